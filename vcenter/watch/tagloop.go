package watch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/vcenter/rest"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

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

// A tagLoop reads tags, in a goroutine of its own.
type tagLoop struct {
	session Session
	reader  TagReader
	inbox   *Inbox
	// wanted and found are those of the tagSchedule.
	wanted   <-chan tagObjects
	found    chan<- tagReading
	reporter Reporter
	// refresh is the time between two readings, retryMin the least one after a failure.
	refresh, retryMin time.Duration

	// query is the last one. askedFor is when somebody last waited for a reading, and
	// postponed is when the next one is done for that.
	query     tags.Query
	askedFor  time.Time
	postponed <-chan time.Time
}

// run reads the tags of the wanted objects when those change and at the refresh interval,
// sooner after a failure. Where a Node may have joined, the names of tags are read too unless
// they are recent; at rest that is seldom done. A tagging service that does not answer makes
// tags unknown, unless SOAP does not answer either: that ends the watch.
func (l *tagLoop) run(ctx context.Context) error {
	defer func() { _ = l.reader.Wait() }() // whom the login concerns asks again
	next := time.NewTimer(l.refresh)
	defer next.Stop()
	retries := l.newRetries()
	for {
		awaited, err := l.wait(ctx, next.C)
		if err != nil {
			return err
		}
		required := l.inbox.required.Load()
		l.query.Categories = required.Categories
		if len(l.query.Objects) == 0 && len(required.Categories) == 0 {
			next.Reset(l.refresh)
			continue
		}
		result := l.reader.Read(ctx, l.query)
		if err := l.examine(ctx, result.Err); err != nil {
			return err
		}
		l.reporter.TagsRead(ctx, result.Err)
		if result.Err == nil {
			retries = l.newRetries()
		}
		next.Reset(l.pauseAfter(result, &retries))
		select {
		case l.found <- tagReading{result, required.Categories, awaited}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait waits until tags are to be read and has the query say with which objects, and how
// old names may be. It reports whether somebody waits for the reading.
func (l *tagLoop) wait(ctx context.Context, next <-chan time.Time) (awaited bool, err error) {
	for {
		l.query.Age = tags.NamesFor
		select {
		case objects := <-l.wanted:
			l.query.Objects = objects.refs
			l.query.Paths = objects.paths
			l.query.Age = l.refresh / 2
			return false, nil
		case <-l.inbox.readNames:
			if left := min(namesPause, l.refresh) - time.Since(l.askedFor); left > 0 {
				l.postponed = time.After(left)
				continue
			}
		case <-l.postponed:
		case <-l.inbox.refreshTags:
			return false, nil
		case <-next:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
		l.query.Age = l.refresh / 2
		l.askedFor = time.Now()
		l.postponed = nil
		return true, nil
	}
}

// examine returns why a reading that failed ends the watch, nil if it does not.
func (l *tagLoop) examine(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, session.ErrRejected) {
		l.reporter.CredentialsRejected() // there may be other credentials by now
	}
	if err == nil || errors.As(err, new(*session.RESTLoginError)) || rest.Answered(err) {
		return nil
	}
	if silent := l.session.Ping(ctx); silent != nil {
		return fmt.Errorf("asking whether it answers, since its tagging service does not (%s): %w", err.Error(), silent)
	}
	return nil
}

// newRetries returns the pauses after failures. They double from retryMin to the refresh interval, and each is
// between half of that and all of it.
func (l *tagLoop) newRetries() wait.Backoff {
	return wait.Backoff{Duration: min(l.retryMin, l.refresh) / 2, Factor: 2, Jitter: 1, Cap: l.refresh / 2, Steps: math.MaxInt}
}

// pauseAfter returns the time until the next reading.
func (l *tagLoop) pauseAfter(a tags.Attachments, retries *wait.Backoff) time.Duration {
	switch {
	case a.Err != nil:
		return max(retries.Step(), min(rest.RetryAfter(a.Err), retryAfterMax))
	case a.More:
		return min(tagsMore, l.refresh)
	}
	return l.refresh
}
