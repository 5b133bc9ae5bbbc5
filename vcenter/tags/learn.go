package tags

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vzones/internal/quote"
	"vzones/vcenter/faults"
)

// learn reads new tags, then categories, since only tags in relevant categories are refreshed. Last, it
// checks which gone tags are unreadable.
func (c *cache) learn(ctx context.Context, s Service, l *listing, gone map[Ref]map[string]bool, q *Query) (refreshErr, err error) {
	read := func(n *names, ids map[string]bool, age time.Duration, what string) {
		if err != nil {
			return
		}
		now := time.Now()
		failedRefresh, failed := n.read(ctx, s, c.stale(n, ids, age), c.parallel, now)
		refreshErr = quote.Errors(quote.Most, refreshErr, failedRefresh)
		if failed != nil {
			err = fmt.Errorf("reading %s: %w", what, failed)
		}
	}
	attached := tagsOf(l)
	if len(attached) > faults.MaxTags {
		return nil, faults.ManyTags
	}
	read(&c.tags, attached, forever, "tags")
	used := c.categoriesInUse(l)
	read(&c.categories, c.relevant(used, q), q.MaxNameAge, "tag categories")
	if slices.ContainsFunc(q.Categories, func(name string) bool { return !c.hasCategoryNamed(name, used) }) {
		// Another category in use may have been renamed to the requested name.
		read(&c.categories, used, q.MaxNameAge, "tag categories")
	}
	read(&c.tags, c.tagsIn(attached, c.relevant(used, q)), q.MaxNameAge, "tags")
	if err != nil {
		return nil, err
	}
	toVerify := make(map[string]bool)
	now := time.Now()
	for ref, tags := range gone {
		for id := range tags {
			if !c.withheld[ref][id] || c.tags.stale(id, now, unreadableRefreshes*c.refresh, NameLifetime) {
				toVerify[id] = true
			}
		}
	}
	if err := c.tags.verify(ctx, s, toVerify, c.parallel, now); err != nil {
		return nil, fmt.Errorf("reading tags that are no longer attached: %w", err)
	}
	return refreshErr, nil
}

const forever = time.Duration(1<<63 - 1)

// relevant returns the categories with a relevant or unknown name.
func (c *cache) relevant(categories map[string]bool, q *Query) map[string]bool {
	result := make(map[string]bool)
	for id := range categories {
		if known, ok := c.categories.byID[id]; !ok || known.readErr != nil || q.isRelevant(known.Name) {
			result[id] = true
		}
	}
	return result
}

func (c *cache) tagsIn(tags, categories map[string]bool) map[string]bool {
	result := make(map[string]bool)
	for id := range tags {
		if categories[c.tags.byID[id].Category] {
			result[id] = true
		}
	}
	return result
}

func (c *cache) stale(n *names, ids map[string]bool, age time.Duration) map[string]bool {
	now := time.Now()
	stale := make(map[string]bool)
	for id := range ids {
		if n.stale(id, now, unreadableRefreshes*c.refresh, age) {
			stale[id] = true
		}
	}
	return stale
}

// oldestNameRead returns the time of the oldest read of a relevant name, or now.
func (c *cache) oldestNameRead(l *listing, used map[string]bool, q *Query) time.Time {
	oldest := time.Now()
	update := func(n *names, ids map[string]bool) {
		for id := range ids {
			if known := n.byID[id]; known.readErr == nil && known.readAt.Before(oldest) {
				oldest = known.readAt
			}
		}
	}
	matching := c.relevant(used, q)
	if slices.ContainsFunc(q.Categories, func(name string) bool { return !c.hasCategoryNamed(name, used) }) {
		matching = used
	}
	update(&c.categories, matching)
	update(&c.tags, c.tagsIn(tagsOf(l), matching))
	return oldest
}
