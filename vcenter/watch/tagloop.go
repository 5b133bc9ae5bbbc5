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
	partialReadPause   = 5 * time.Second
	requestedReadPause = 15 * time.Second
	retryAfterMax      = 5 * time.Minute
)

type tagLoop struct {
	session           Session
	reader            TagReader
	inbox             *Inbox
	wanted            <-chan tagObjects
	found             chan<- tagReading
	reporter          Reporter
	refresh, retryMin time.Duration

	query         tags.Query
	lastRequested time.Time
	// postponed fires for a request that came before requestedReadPause was over.
	postponed <-chan time.Time
}

// run ends the watch only if SOAP fails, too: a failure of only the tagging service makes tags unknown.
func (l *tagLoop) run(ctx context.Context) error {
	defer func() { _ = l.reader.Wait() }()
	next := time.NewTimer(l.refresh)
	defer next.Stop()
	retries := l.newRetries()
	for {
		requested, err := l.wait(ctx, next.C)
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
		if err := l.fatalError(ctx, result.Err); err != nil {
			return err
		}
		l.reporter.TagsRead(ctx, result.Err)
		if result.Err == nil {
			retries = l.newRetries()
		}
		next.Reset(l.pauseAfter(result, &retries))
		select {
		case l.found <- tagReading{result, required.Categories, requested}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *tagLoop) wait(ctx context.Context, next <-chan time.Time) (requested bool, err error) {
	for {
		l.query.MaxNameAge = tags.NameLifetime
		select {
		case objects := <-l.wanted:
			l.query.Objects = objects.refs
			l.query.Paths = objects.paths
			l.query.MaxNameAge = l.refresh / 2
			return false, nil
		case <-l.inbox.readNames:
			if remaining := min(requestedReadPause, l.refresh) - time.Since(l.lastRequested); remaining > 0 {
				l.postponed = time.After(remaining)
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
		l.query.MaxNameAge = l.refresh / 2
		l.lastRequested = time.Now()
		l.postponed = nil
		return true, nil
	}
}

func (l *tagLoop) fatalError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, session.ErrRejected) {
		l.reporter.CredentialsRejected()
	}
	if err == nil || errors.As(err, new(*session.RESTLoginError)) || rest.Answered(err) {
		return nil
	}
	if pingErr := l.session.Ping(ctx); pingErr != nil {
		return fmt.Errorf("probing the vCenter because its tagging service does not respond (%s): %w", err.Error(), pingErr)
	}
	return nil
}

func (l *tagLoop) newRetries() wait.Backoff {
	return wait.Backoff{Duration: min(l.retryMin, l.refresh) / 2, Factor: 2, Jitter: 1, Cap: l.refresh / 2, Steps: math.MaxInt}
}

func (l *tagLoop) pauseAfter(a tags.Attachments, retries *wait.Backoff) time.Duration {
	switch {
	case a.Err != nil:
		return max(retries.Step(), min(rest.RetryAfter(a.Err), retryAfterMax))
	case a.Incomplete:
		return min(partialReadPause, l.refresh)
	}
	return l.refresh
}
