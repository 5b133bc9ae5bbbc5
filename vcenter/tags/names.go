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
	// NamesFor is how long the names of tags and categories serve at rest. Reading them
	// takes a request each: the API has no batch for it that is open to all.
	NamesFor = 5 * time.Minute
	// namesAtMost is how long they serve if reading them again fails.
	namesAtMost = time.Hour
)

// A name is what is known of a tag, or with Tag.Name alone of a category.
type name struct {
	Tag
	// read is when the vCenter last confirmed it, tried when it was last asked.
	read, tried time.Time
	// refused is the error where the account may not read it now (403), or there is no such
	// (404); nil if neither.
	refused error
}

// names are what IDs stand for.
type names struct {
	get  func(context.Context, Service, string) (Tag, error)
	byID map[string]name
}

// stale reports whether an ID has to be read: a name serves for age.
func (n *names) stale(id string, now time.Time, refusedFor, age time.Duration) bool {
	known, ok := n.byID[id]
	switch {
	case !ok, rest.ClassOf(known.refused) == rest.NotFound:
		return true
	case known.refused != nil:
		return now.Sub(known.tried) >= refusedFor
	}
	return now.Sub(known.read) >= age
}

// read reads what these IDs stand for, several at a time. An ID that is known keeps its
// name if reading it again fails, which is the first result; that it is gone or may not
// be read is no failure but known then.
func (n *names) read(ctx context.Context, s Service, ids map[string]bool, parallel int, now time.Time) (kept, err error) {
	if len(ids) > faults.MaxTags {
		return nil, faults.ManyTags
	}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, parallel))
	for id := range ids {
		mu.Lock()
		known, ok := n.byID[id]
		failed := kept != nil
		mu.Unlock()
		serves := ok && known.refused == nil && now.Sub(known.read) < namesAtMost
		if failed && serves {
			// This request would fail too, and take as long.
			continue
		}
		g.Go(func() error {
			tag, err := n.get(ctx, s, id)
			mu.Lock()
			defer mu.Unlock()
			class := rest.ClassOf(err)
			switch {
			case err == nil:
				read := time.Now() // the others may take their time
				n.byID[id] = name{Tag: tag, read: read, tried: read}
			case class == rest.NotFound, class == rest.Denied:
				n.byID[id] = name{Tag: known.Tag, tried: now, refused: err}
			case serves && class != rest.Unauthenticated && ctx.Err() == nil:
				kept = err
			default:
				return err
			}
			return nil
		})
	}
	err = g.Wait()
	return kept, err
}

// verify is read for IDs of which what was known before does not serve.
func (n *names) verify(ctx context.Context, s Service, ids map[string]bool, parallel int, now time.Time) error {
	kept, err := n.read(ctx, s, ids, parallel, now)
	return quote.Errors(2, err, kept)
}

// forget drops what is not in use and was read so long ago, or may not be read; with more names than a vCenter has,
// all that is not in use.
func (n *names) forget(used map[string]bool, now time.Time, age time.Duration) {
	if len(n.byID) > faults.MaxTags {
		age = 0
	}
	for id, known := range n.byID {
		if !used[id] && (known.refused != nil || now.Sub(known.read) >= age) {
			delete(n.byID, id)
		}
	}
}
