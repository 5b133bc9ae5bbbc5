package tags

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"vzones/internal/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

const (
	// NameLifetime is the lifetime of a cached name, since not all accounts may use a batch request for names.
	NameLifetime = 5 * time.Minute
	// maxNameLifetime is the lifetime if a refresh fails.
	maxNameLifetime = time.Hour
)

// A cachedName is the state of a tag, or of a category, which has Tag.Name only.
type cachedName struct {
	Tag
	readAt, triedAt time.Time
	// readErr is the error if it is unreadable (403) or does not exist (404).
	readErr error
}

type names struct {
	get  func(context.Context, Service, string) (Tag, error)
	byID map[string]cachedName
}

func (n *names) stale(id string, now time.Time, unreadablePause, age time.Duration) bool {
	known, ok := n.byID[id]
	switch {
	case !ok, rest.ClassOf(known.readErr) == rest.NotFound:
		return true
	case known.readErr != nil:
		return now.Sub(known.triedAt) >= unreadablePause
	}
	return now.Sub(known.readAt) >= age
}

// read keeps a name valid if its refresh fails, and returns refreshErr. Denied and NotFound are
// results, not errors.
func (n *names) read(ctx context.Context, s Service, ids map[string]bool, parallel int, now time.Time) (refreshErr, err error) {
	if len(ids) > faults.MaxTags {
		return nil, faults.ManyTags
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, parallel))
	for id := range ids {
		mu.Lock()
		known, ok := n.byID[id]
		hasFailed := refreshErr != nil
		mu.Unlock()
		isValid := ok && known.readErr == nil && now.Sub(known.readAt) < maxNameLifetime
		if hasFailed && isValid {
			// This request would fail too.
			continue
		}
		g.Go(func() error {
			tag, err := n.get(ctx, s, id)
			mu.Lock()
			defer mu.Unlock()
			class := rest.ClassOf(err)
			switch {
			case err == nil:
				read := time.Now()
				n.byID[id] = cachedName{Tag: tag, readAt: read, triedAt: read}
			case class == rest.NotFound, class == rest.Denied:
				n.byID[id] = cachedName{Tag: known.Tag, triedAt: now, readErr: err}
			case isValid && class != rest.Unauthenticated && ctx.Err() == nil:
				refreshErr = err
			default:
				return err
			}
			return nil
		})
	}
	err = g.Wait()
	return refreshErr, err
}

// verify is read without the fallback to older names.
func (n *names) verify(ctx context.Context, s Service, ids map[string]bool, parallel int, now time.Time) error {
	refreshErr, err := n.read(ctx, s, ids, parallel, now)
	return quote.Errors(2, err, refreshErr)
}

func (n *names) forget(used map[string]bool, now time.Time, age time.Duration) {
	if len(n.byID) > faults.MaxTags {
		age = 0
	}
	for id, known := range n.byID {
		if !used[id] && (known.readErr != nil || now.Sub(known.readAt) >= age) {
			delete(n.byID, id)
		}
	}
}
