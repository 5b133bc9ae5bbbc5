package tags

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// surveyedTags bounds a survey: how many tags the categories may have together.
	surveyedTags = 500
	// surveyedNames bounds how many names one survey reads. The rest are for the next.
	surveyedNames = 50
)

// A Use is a tag that is attached to objects, wherever they are in the inventory.
type Use struct {
	Category, Name string
	Objects        []Ref
}

// survey returns what the tags of categories, by name, are attached to, in order. It takes
// a request for each category and one for all their tags, and one for each tag in use whose
// name is not known or was read too long ago. Tags beyond its bounds are left out.
func (c *cache) survey(ctx context.Context, s Service, categories []string) ([]Use, error) {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(c.categories.byID)) {
		if known := c.categories.byID[id]; known.refused != nil || !slices.Contains(categories, known.Name) {
			continue
		}
		of, err := s.TagsOf(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("listing the tags of a category: %w", err)
		}
		ids = append(ids, of...)
	}
	slices.Sort(ids)
	if ids = ids[:min(len(ids), surveyedTags)]; len(ids) == 0 {
		c.surveyed = nil
		return nil, nil
	}
	attached, err := s.Objects(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("listing the objects of %d tags: %w", len(ids), err)
	}
	now := time.Now()
	unnamed, used := make(map[string]bool), make(map[string]bool)
	for _, id := range ids {
		if len(attached[id]) == 0 {
			continue
		}
		used[id] = true
		if len(unnamed) < surveyedNames && c.tags.stale(id, now, forbiddenFor*c.refresh, NamesFor) {
			unnamed[id] = true
		}
	}
	if _, err := c.tags.read(ctx, s, unnamed, c.parallel, now); err != nil {
		return nil, fmt.Errorf("reading tags: %w", err)
	}
	c.surveyed = used
	return c.uses(attached), nil
}

func (c *cache) uses(attached map[string][]Ref) []Use {
	var uses []Use
	for id, objects := range attached {
		tag, ok := c.tags.byID[id]
		category := c.categories.byID[tag.Category]
		if !ok || tag.refused != nil || category.Name == "" || len(objects) == 0 {
			continue
		}
		uses = append(uses, Use{category.Name, tag.Name, slices.SortedFunc(slices.Values(objects), compareRefs)})
	}
	slices.SortFunc(uses, func(a, b Use) int { return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Name, b.Name)) })
	return uses
}
