package survey

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"vzones/topology/quote"
	"vzones/vcenter/rest"
	"vzones/vcenter/tags"
)

// definedNames bounds the tags of one category whose names are read, a request each.
const definedNames = 100

// A definition is a category with the IDs of its tags, in order, and those of them whose names were read.
type definition struct {
	Category
	tags  []string
	known map[string]tags.Tag
}

// definitions reads the categories that matter. One that the account cannot see is left out.
// Visible are the names of all.
func (r *reader) definitions(ctx context.Context) (all []definition, visible []string, err error) {
	err = r.rest.With(ctx, func(c *rest.Client) error {
		all, visible, err = r.define(ctx, c)
		return err
	})
	return all, visible, err
}

func (r *reader) define(ctx context.Context, c *rest.Client) (all []definition, visible []string, err error) {
	s := tags.NewClient(c, r.rest.Do)
	ids, err := s.Categories(ctx)
	if err != nil && !rest.HasStatus(err, http.StatusForbidden) {
		return nil, nil, fmt.Errorf("listing the tag categories: %w", err)
	}
	known, err := readEach(ctx, ids, s.Category)
	if err != nil {
		return nil, nil, err
	}
	for _, is := range known {
		visible = append(visible, is.Name)
	}
	slices.Sort(ids)
	for _, name := range r.q.Categories {
		for _, id := range ids {
			is, ok := known[id]
			if !ok || is.Name != name {
				continue
			}
			d := definition{Category: Category{Name: name, Multiple: is.Cardinality == "MULTIPLE", Types: is.Types}}
			if err := r.readTags(ctx, c, id, &d); err != nil {
				return nil, nil, fmt.Errorf("reading the tag category %s: %w", quote.Value(name), err)
			}
			all = append(all, d)
		}
	}
	return all, visible, nil
}

func (r *reader) readTags(ctx context.Context, c *rest.Client, id string, d *definition) (err error) {
	if d.tags, err = r.tagsOf(ctx, c, id); err != nil {
		return fmt.Errorf("listing its tags: %w", err)
	}
	slices.Sort(d.tags)
	if d.known, err = readEach(ctx, d.tags[:min(len(d.tags), definedNames)], tags.NewClient(c, r.rest.Do).Tag); err != nil {
		return fmt.Errorf("reading its tags: %w", err)
	}
	for _, tag := range d.known {
		d.Tags = append(d.Tags, tag.Name)
	}
	slices.Sort(d.Tags)
	d.MoreTags = len(d.tags) - len(d.Tags)
	return nil
}

// readEach reads what IDs stand for, several at a time. What the account may not read, or is gone, is left
// out.
func readEach[T any](ctx context.Context, ids []string, read func(context.Context, string) (T, error)) (map[string]T, error) {
	var mu sync.Mutex
	all := make(map[string]T, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(tagsAtOnce)
	for _, id := range ids {
		g.Go(func() error {
			one, err := read(ctx, id)
			switch {
			case rest.HasStatus(err, http.StatusNotFound), rest.HasStatus(err, http.StatusForbidden):
				return nil
			case err != nil:
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			all[id] = one
			return nil
		})
	}
	return all, g.Wait()
}
