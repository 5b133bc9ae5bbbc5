package tags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
	"vzones/vcenter/session"
)

const (
	// objectsPerRequest bounds a batch. After too large an answer it is halved, down to minObjectsPerRequest.
	objectsPerRequest    = 2000
	minObjectsPerRequest = 125
	// requestsPerReading bounds the requests of one read. Further batches stay in the queue.
	requestsPerReading = 64
	// requestsWithoutAnswer rejections without a success mean that the account cannot list any tags.
	requestsWithoutAnswer = 16
	// recheckedSingly unreadable objects are requested singly by a recheck if their batch is rejected.
	recheckedSingly = 8
	// recheckMin and recheckMax bound the pause, which doubles, in refresh intervals.
	recheckMin = 2
	recheckMax = 20
)

// objects contains the objects whose tags could not be listed.
type objects struct {
	// unreadable also contains objects that the service does not know or fails at.
	unreadable map[Ref]unreadableObject
	// queue contains the parts of rejected batches to request.
	queue [][]Ref
	// recheckAt is the time of the next recheck, pause the interval before it.
	recheckAt time.Time
	pause     time.Duration
	// barred reports whether the account cannot list any tags.
	barred   bool
	probe    int
	halvings int
}

func (o *objects) perRequest() int { return max(objectsPerRequest>>o.halvings, minObjectsPerRequest) }

type unreadableObject struct {
	err   error
	asked time.Time
}

type listing struct {
	s                  Service
	now                time.Time
	attached           map[Ref][]string
	requests, answered int
	lastErr            error
	tooLarge           bool
	tags               int
}

// list requests a batch. rejected means that the batch must be divided.
func (l *listing) list(ctx context.Context, batch []Ref) (rejected bool, err error) {
	l.requests++
	attached, err := l.s.Attached(ctx, batch)
	switch rest.ClassOf(err) {
	case rest.Denied, rest.NotFound, rest.Failed:
		l.lastErr = err
		return true, nil
	}
	if errors.Is(err, session.LargeAnswer) {
		l.lastErr = err
		l.tooLarge = l.tooLarge || len(batch) > minObjectsPerRequest
		return true, nil
	}
	if err != nil {
		return false, err
	}
	l.answered++
	for _, ref := range batch {
		l.attached[ref] = attached[ref]
		l.tags += len(attached[ref])
	}
	if l.tags > faults.MaxAttached {
		return false, faults.ManyTags
	}
	return false, nil
}

// list lists the tags of objects, without failures in one request for each batch.
//
// The service rejects a batch because of one unreadable object, and an answer with many tags may be too
// large. Then list divides the batch until it finds these objects, and skips them until recheckAt.
func (o *objects) list(ctx context.Context, s Service, refs []Ref, now time.Time, refresh time.Duration) (*listing, error) {
	l := &listing{s: s, now: now, attached: make(map[Ref][]string, len(refs))}
	wanted := make(map[Ref]bool, len(refs))
	for _, ref := range refs {
		wanted[ref] = true
	}
	o.forget(wanted)
	queued := make(map[Ref]bool)
	for _, batch := range o.queue {
		for _, ref := range batch {
			queued[ref] = true
		}
	}
	listable := slices.DeleteFunc(slices.Clone(refs), func(ref Ref) bool {
		_, isUnreadable := o.unreadable[ref]
		return isUnreadable || queued[ref]
	})
	var rejectedBatches [][]Ref
	for batch := range slices.Chunk(listable, o.perRequest()) {
		rejected, err := l.list(ctx, batch)
		if err != nil {
			return nil, err
		}
		if rejected {
			rejectedBatches = append(rejectedBatches, batch)
		}
	}
	if o.barred && len(rejectedBatches) > 0 && l.answered == 0 {
		isBarred, err := o.tryOne(ctx, l, listable)
		if err != nil {
			return nil, err
		}
		if isBarred {
			return nil, l.barredError(len(refs))
		}
	}
	o.barred = false
	if l.tooLarge && o.perRequest() > minObjectsPerRequest {
		o.halvings++
	}
	for _, batch := range rejectedBatches {
		o.queue = append(o.queue, divide(batch)...)
	}
	if err := o.narrow(ctx, l, refresh); err != nil {
		return nil, err
	}
	if len(listable) > 0 && l.answered == 0 && l.lastErr != nil {
		o.barred = true
		o.queue = nil
		o.unreadable = nil
		return nil, l.barredError(len(refs))
	}
	return l, o.recheckUnreadable(ctx, l, refresh)
}

func (l *listing) barredError(n int) error {
	reason := ""
	if rest.ClassOf(l.lastErr) == rest.Denied {
		reason = "; the account needs the privilege System.Read on them"
	}
	return fmt.Errorf("cannot list the tags of any of %d objects%s: %w", n, reason, l.lastErr)
}

func (o *objects) tryOne(ctx context.Context, l *listing, refs []Ref) (rejected bool, err error) {
	if len(refs) == 1 {
		return true, nil
	}
	o.probe++
	return l.list(ctx, []Ref{refs[o.probe%len(refs)]})
}

func (o *objects) narrow(ctx context.Context, l *listing, refresh time.Duration) error {
	for ; len(o.queue) > 0 && l.requests < requestsPerReading; o.queue = o.queue[1:] {
		if l.answered == 0 && l.requests >= requestsWithoutAnswer {
			return nil
		}
		batch := o.queue[0]
		rejected, err := l.list(ctx, batch)
		switch {
		case err != nil:
			return err
		case !rejected:
		case len(batch) == 1:
			o.markUnreadable(batch[0], l, refresh)
		default:
			o.queue = append(o.queue, divide(batch)...)
		}
	}
	return nil
}

func (o *objects) markUnreadable(ref Ref, l *listing, refresh time.Duration) {
	if o.unreadable == nil {
		o.unreadable = make(map[Ref]unreadableObject)
	}
	if _, isKnown := o.unreadable[ref]; !isKnown {
		o.pause = recheckMin * refresh
		o.recheckAt = l.now.Add(o.pause)
	}
	err := errForbidden
	class := rest.ClassOf(l.lastErr)
	switch {
	case errors.Is(l.lastErr, session.LargeAnswer):
		err = fmt.Errorf("its tags cannot be read: %w", l.lastErr)
	case class == rest.NotFound:
		err = ErrDeleted
	case class == rest.Failed:
		err = fmt.Errorf("the tagging service returns an error for the object: %w", l.lastErr)
	}
	o.unreadable[ref] = unreadableObject{err, l.now}
}

func (o *objects) recheckUnreadable(ctx context.Context, l *listing, refresh time.Duration) error {
	if len(o.unreadable) == 0 || l.now.Before(o.recheckAt) {
		return nil
	}
	o.pause = min(2*o.pause, recheckMax*refresh)
	o.recheckAt = l.now.Add(o.pause)
	refs := make([]Ref, 0, len(o.unreadable))
	for ref := range o.unreadable {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(o.unreadable[a].asked.Compare(o.unreadable[b].asked), compareRefs(a, b))
	})
	if len(refs) > 1 {
		if rejected, err := l.list(ctx, refs[:min(len(refs), o.perRequest())]); err != nil || !rejected {
			o.dropReadable(l)
			return err
		}
	}
	for _, ref := range refs[:min(len(refs), recheckedSingly)] {
		rejected, err := l.list(ctx, []Ref{ref})
		if err != nil {
			return err
		}
		if rejected {
			o.markUnreadable(ref, l, refresh)
		}
	}
	o.dropReadable(l)
	return nil
}

func (o *objects) dropReadable(l *listing) {
	for ref := range o.unreadable {
		if _, listed := l.attached[ref]; listed {
			delete(o.unreadable, ref)
		}
	}
}

func (o *objects) forget(wanted map[Ref]bool) {
	for ref := range o.unreadable {
		if !wanted[ref] {
			delete(o.unreadable, ref)
		}
	}
	unwanted := func(ref Ref) bool { return !wanted[ref] }
	for i, batch := range o.queue {
		o.queue[i] = slices.DeleteFunc(slices.Clone(batch), unwanted)
	}
	o.queue = slices.DeleteFunc(o.queue, func(batch []Ref) bool { return len(batch) == 0 })
}

func (o *objects) errs(l *listing, refs []Ref) map[Ref]error {
	errs := make(map[Ref]error)
	for _, ref := range refs {
		if _, listed := l.attached[ref]; listed {
			continue
		}
		if errs[ref] = o.unreadable[ref].err; errs[ref] == nil {
			errs[ref] = topology.ErrNotRead
		}
	}
	return errs
}

// divide splits a batch by type, because privileges often differ by level, or in half.
func divide(batch []Ref) [][]Ref {
	if len(batch) == 1 {
		return [][]Ref{batch}
	}
	byType := make(map[string][]Ref)
	var kinds []string
	for _, ref := range batch {
		if byType[ref.Type] == nil {
			kinds = append(kinds, ref.Type)
		}
		byType[ref.Type] = append(byType[ref.Type], ref)
	}
	if len(kinds) == 1 {
		return [][]Ref{batch[:len(batch)/2], batch[len(batch)/2:]}
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(byType[a]), len(byType[b])), strings.Compare(a, b))
	})
	var parts [][]Ref
	for _, kind := range kinds {
		parts = append(parts, byType[kind])
	}
	return parts
}
