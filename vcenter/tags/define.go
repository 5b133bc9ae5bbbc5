package tags

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"vzones/topology/quote"
)

// definedNames bounds the tags of one category whose names are read, a request each.
const definedNames = 100

// A Definition is a category with the names of its tags.
type Definition struct {
	Category
	// Tags are the names of its tags, in order. More is how many there are beside them: those
	// that the account may not read, and those beyond the first hundred.
	Tags []string
	More int
}

// Define reads the definitions of categories by name, in that order. One that the account cannot
// see is left out.
func (r *Reader) Define(ctx context.Context, s Session, categories []string) (all []Definition, err error) {
	err = s.With(ctx, func(service Service) error {
		all, err = r.cache.define(ctx, service, categories)
		return err
	})
	return all, err
}

func (c *cache) define(ctx context.Context, s Service, categories []string) ([]Definition, error) {
	now := time.Now()
	if len(c.without(categories)) > 0 && now.Sub(c.listed) >= NamesFor {
		if err := c.listCategories(ctx, s, c.used, now); err != nil {
			return nil, err
		}
	}
	var all []Definition
	for _, category := range categories {
		for _, id := range slices.Sorted(maps.Keys(c.categories.byID)) {
			if known := c.categories.byID[id]; known.refused != nil || known.Name != category {
				continue
			}
			d, err := c.definition(ctx, s, id)
			if err != nil {
				return nil, fmt.Errorf("reading the tag category %s: %w", quote.Value(category), err)
			}
			all = append(all, d)
		}
	}
	return all, nil
}

func (c *cache) definition(ctx context.Context, s Service, id string) (d Definition, err error) {
	if d.Category, err = s.Category(ctx, id); err != nil {
		return d, err
	}
	ids, err := s.TagsOf(ctx, id)
	if err != nil {
		return d, fmt.Errorf("listing its tags: %w", err)
	}
	slices.Sort(ids)
	unnamed, now := make(map[string]bool), time.Now()
	for _, tag := range ids {
		if len(unnamed) < definedNames && c.tags.stale(tag, now, forbiddenFor*c.refresh, NamesFor) {
			unnamed[tag] = true
		}
	}
	if _, err := c.tags.read(ctx, s, unnamed, c.parallel, now); err != nil {
		return d, fmt.Errorf("reading its tags: %w", err)
	}
	for _, tag := range ids {
		if known, ok := c.tags.byID[tag]; ok && known.refused == nil {
			d.Tags = append(d.Tags, known.Name)
		} else {
			d.More++
		}
	}
	slices.Sort(d.Tags)
	return d, nil
}
