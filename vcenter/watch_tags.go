package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

const (
	// tagChangesMax is how many readings of tags changes of the inventory may start
	// within tagChangesTime. What comes on top waits: a vCenter in which machines move
	// all the time is asked no more often than that.
	tagChangesMax  = 10
	tagChangesTime = 5 * time.Second
)

// wantTags asks for the tags of these objects, if they are others than before.
func (w *watch) wantTags(refs []types.ManagedObjectReference) {
	if slices.Equal(refs, w.tagRefs) {
		return
	}
	w.tagRefs = refs
	paths := make(map[types.ManagedObjectReference]string, len(refs))
	for _, ref := range refs {
		paths[ref] = w.model.tree.path(ref)
	}
	w.tagPaths.Store(&paths)
	if w.tagsDue == nil {
		w.readChanged()
	}
}

// readChanged has the tags of the wanted objects read now, or when the readings before
// allow it.
func (w *watch) readChanged() {
	now := time.Now()
	w.tagsAsked = slices.DeleteFunc(w.tagsAsked, func(t time.Time) bool { return now.Sub(t) >= tagChangesTime })
	if len(w.tagsAsked) >= tagChangesMax {
		w.tagsDue = time.After(tagChangesTime - now.Sub(w.tagsAsked[0]))
		return
	}
	w.tagsAsked = append(w.tagsAsked, now)
	w.want(w.tagRefs)
}

// want has the tags of these objects read now.
func (w *watch) want(refs []types.ManagedObjectReference) {
	select {
	case <-w.tagWanted:
	default:
	}
	w.tagWanted <- refs
}

const (
	// tagsMore is the pause before the rest of the objects is asked for that one reading
	// could not.
	tagsMore = 5 * time.Second
	// namesPause is the least time between two readings that somebody waits for, if the
	// refresh interval is not shorter.
	namesPause = 15 * time.Second
	// retryAfterMax bounds the pause that a tagging service may ask for.
	retryAfterMax = 5 * time.Minute
)

// A tagReading is what a reading has found.
type tagReading struct {
	tags.Attachments
	// categories are those whose names count in Named.
	categories []string
	// tagged is to what the tags of regions and zones are attached.
	tagged []topology.Tagged
	// awaited says that somebody waits for it, whatever it has found.
	awaited bool
}

// readTags reads the tags of the wanted objects when those change and at the
// refresh interval, sooner after a failure. Where a Node may have joined, the names of
// tags are read too unless they are of lately; at rest that is seldom done. A tagging
// service that does not answer makes tags unknown, unless SOAP does not answer either:
// that ends the watch.
func (w *watch) readTags(ctx context.Context) error {
	var q tags.Query
	var askedFor time.Time
	var found []topology.Tagged
	var postponed <-chan time.Time
	refresh := w.c.opts.tagRefresh
	reader := w.c.tags.Through(w.s.Tagging(), w.s)
	next := time.NewTimer(refresh)
	defer next.Stop()
	delay := w.c.opts.retryMin
	for {
		q.Age = tags.NamesFor
		awaited := false
		select {
		case q.Objects = <-w.tagWanted:
			if paths := w.tagPaths.Load(); paths != nil {
				q.Paths = *paths
			}
			q.Age = refresh / 2
		case <-w.c.reread:
			if wait := min(namesPause, refresh) - time.Since(askedFor); wait > 0 {
				postponed = time.After(wait)
				continue
			}
			awaited = true
		case <-postponed:
			awaited = true
		case <-w.c.retag:
		case <-next.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if awaited {
			q.Age, askedFor, postponed = refresh/2, time.Now(), nil
		}
		q.Categories = w.c.target.Load().categories
		if len(q.Objects) == 0 && len(q.Categories) == 0 {
			next.Reset(refresh)
			continue
		}
		result := reader.Read(ctx, q)
		if err := w.examine(ctx, result.Err); err != nil {
			return err
		}
		w.c.tagReading.Store(int32(readingOf(result.Err)))
		if result.Err == nil {
			found = reader.Survey(ctx, w.c.target.Load().surveyed, result)
		}
		next.Reset(w.pauseAfter(result, delay))
		if result.Err != nil {
			delay = min(2*delay, refresh)
		} else {
			delay = w.c.opts.retryMin
		}
		select {
		case w.tagged <- tagReading{result, q.Categories, found, awaited}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// retagged takes over a reading of tags.
func (w *watch) retagged(r tagReading) {
	named := inventory.Named{At: r.Named, Categories: r.categories}
	same := slices.EqualFunc(r.tagged, w.model.tagged, func(a, b topology.Tagged) bool { return reflect.DeepEqual(a, b) })
	w.changed = w.changed || !same || !r.Equal(w.model.tags)
	w.reread = w.reread || r.awaited || named.At != w.tagNames.At || !slices.Equal(named.Categories, w.tagNames.Categories)
	w.model.tags, w.model.tagged, w.tagNames = r.Attachments, r.tagged, named
}

// examine returns why a reading that failed ends the watch, nil if it does not.
func (w *watch) examine(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, session.ErrRejected) {
		token(w.c.renewed) // there may be other credentials by now
	}
	if err == nil || errors.As(err, new(*session.TagLoginError)) || tags.Answered(err) {
		return nil
	}
	if silent := w.s.Ping(ctx); silent != nil {
		return fmt.Errorf("asking whether it answers, since its tagging service does not (%s): %w", err.Error(), silent)
	}
	return nil
}

// pauseAfter returns the time until the next reading.
func (w *watch) pauseAfter(a tags.Attachments, delay time.Duration) time.Duration {
	switch {
	case a.Err != nil:
		wait := min(delay, w.c.opts.tagRefresh)
		wait = wait/2 + rand.N(wait/2+1)
		return max(wait, min(tags.RetryAfter(a.Err), retryAfterMax))
	case a.More:
		return min(tagsMore, w.c.opts.tagRefresh)
	}
	return w.c.opts.tagRefresh
}
