package tags

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// unreadableRefreshes is the number of refresh intervals between attempts to read an unreadable tag or category.
const unreadableRefreshes = 4

// A cache keeps the attached tags and the names of tags and categories of one vCenter between reads. It is not safe for
// concurrent use.
type cache struct {
	refresh  time.Duration
	parallel int

	objects            objects
	tags               names
	categories         names
	categoriesListedAt time.Time

	// attached lists the tag IDs of each object when it was last listed. withheld are the tag IDs that disappeared because
	// the account lost access.
	attached       map[Ref][]string
	withheld       map[Ref]map[string]bool
	usedCategories map[string]bool
}

func newCache(refresh time.Duration, parallel int) *cache {
	return &cache{
		refresh: refresh, parallel: parallel,
		tags: names{byID: map[string]cachedName{}, get: func(ctx context.Context, s Service, id string) (Tag, error) { return s.Tag(ctx, id) }},
		categories: names{byID: map[string]cachedName{}, get: func(ctx context.Context, s Service, id string) (Tag, error) {
			category, err := s.Category(ctx, id)
			return Tag{Name: category.Name}, err
		}},
	}
}

func (c *cache) forgetUnreadable() {
	c.objects = objects{}
	for _, n := range []*names{&c.tags, &c.categories} {
		for id, known := range n.byID {
			if known.readErr != nil {
				delete(n.byID, id)
			}
		}
	}
	c.categoriesListedAt = time.Time{}
}

// read reads the tags of q.Objects. On an error, attached, withheld and usedCategories stay unchanged, but names and the
// state of unreadable objects may change.
func (c *cache) read(ctx context.Context, s Service, q Query) (Attachments, error) {
	now := time.Now()
	c.tags.forget(c.neededTags(), now, NameLifetime) // Names expire even if this read fails.
	refs := q.Objects
	wanted := q.Categories
	q.MaxNameAge = cmp.Or(q.MaxNameAge, NameLifetime)
	l, err := c.objects.list(ctx, s, refs, now, c.refresh)
	if err != nil {
		return Attachments{}, fmt.Errorf("listing the tags of %d objects: %w", len(refs), err)
	}
	gone, err := c.gone(l)
	if err != nil {
		return Attachments{}, err
	}
	refreshErr, err := c.learn(ctx, s, l, gone, &q)
	if err != nil {
		return Attachments{}, err
	}
	used := c.categoriesInUse(l)
	absent, categoriesErr, err := c.absent(ctx, s, wanted, used, now)
	if err != nil {
		return Attachments{}, err
	}
	c.remember(refs, l, gone, used)
	c.tags.forget(c.neededTags(), now, NameLifetime)
	c.categories.forget(used, now, maxNameLifetime)
	a := Attachments{
		Absent: absent, NamesRead: c.oldestNameRead(l, used, &q), RefreshErr: quote.Errors(2, refreshErr, categoriesErr), Incomplete: len(c.objects.queue) > 0,
		tags: make(map[Ref][]topology.Tag, len(refs)), errs: c.objects.errs(l, refs),
	}
	if len(absent) > 0 {
		for _, known := range c.categories.byID {
			if known.readErr == nil {
				a.Present = append(a.Present, known.Name)
			}
		}
		slices.Sort(a.Present)
	}
	for ref, ids := range l.attached {
		if tags, err := c.resolve(ref, ids); err != nil {
			a.errs[ref] = err
		} else {
			a.tags[ref] = tags
		}
	}
	return a, nil
}

// gone returns the previously attached or withheld tags that the listing lacks: detached, deleted or unreadable.
func (c *cache) gone(l *listing) (map[Ref]map[string]bool, error) {
	gone := make(map[Ref]map[string]bool)
	n := 0
	add := func(ref Ref, id string) {
		if gone[ref] == nil {
			gone[ref] = make(map[string]bool)
		}
		gone[ref][id] = true
		n++
	}
	for ref, ids := range l.attached {
		for _, id := range c.attached[ref] {
			if !slices.Contains(ids, id) {
				add(ref, id)
			}
		}
		for id := range c.withheld[ref] {
			if !slices.Contains(ids, id) {
				add(ref, id)
			}
		}
	}
	if n > faults.MaxAttached {
		return nil, faults.ManyTags
	}
	return gone, nil
}

// remember keeps the previous entries of objects that this read did not list.
func (c *cache) remember(refs []Ref, l *listing, gone map[Ref]map[string]bool, used map[string]bool) {
	attached := l.attached
	withheld := make(map[Ref]map[string]bool)
	if len(attached) < len(refs) {
		attached = maps.Clone(attached)
		for _, ref := range refs {
			if _, listed := attached[ref]; listed {
				continue
			}
			if previous, ok := c.attached[ref]; ok {
				attached[ref] = previous
			}
			if previous := c.withheld[ref]; len(previous) > 0 {
				withheld[ref] = previous
			}
		}
	}
	for ref, ids := range gone {
		for id := range ids {
			if rest.ClassOf(c.tags.byID[id].readErr) != rest.Denied {
				continue
			}
			if withheld[ref] == nil {
				withheld[ref] = make(map[string]bool)
			}
			withheld[ref][id] = true
		}
	}
	c.attached = attached
	c.withheld = withheld
	c.usedCategories = used
}

func (c *cache) neededTags() map[string]bool {
	ids := make(map[string]bool)
	for _, tags := range c.attached {
		for _, id := range tags {
			ids[id] = true
		}
	}
	for _, tags := range c.withheld {
		for id := range tags {
			ids[id] = true
		}
	}
	return ids
}

// resolve looks up tag IDs. An unreadable or withheld tag makes the object's tags unknown.
func (c *cache) resolve(ref Ref, ids []string) ([]topology.Tag, error) {
	for id := range c.withheld[ref] {
		return nil, fmt.Errorf("the account can no longer read the tag %s, which was attached", c.describe(id))
	}
	var tags []topology.Tag
	for _, id := range ids {
		tag := c.tags.byID[id]
		if tag.readErr != nil {
			return nil, fmt.Errorf("the account cannot read the attached tag %s: %w", c.describe(id), tag.readErr)
		}
		category := c.categories.byID[tag.Category]
		if category.readErr != nil {
			return nil, fmt.Errorf("the account cannot read the category of the attached tag %s: %w", c.describe(id), category.readErr)
		}
		tags = append(tags, topology.Tag{Category: category.Name, Name: tag.Name})
	}
	slices.SortFunc(tags, func(a, b topology.Tag) int {
		return strings.Compare(a.Category+"\x00"+a.Name, b.Category+"\x00"+b.Name)
	})
	return tags, nil
}

func (c *cache) describe(id string) string {
	if tag := c.tags.byID[id].Name; tag != "" {
		return fmt.Sprintf("%s (%s)", quote.Value(tag), quote.Plain(id))
	}
	return id
}

func (c *cache) categoriesInUse(l *listing) map[string]bool {
	used := make(map[string]bool)
	for id := range tagsOf(l) {
		if tag := c.tags.byID[id]; tag.readErr == nil && tag.Category != "" {
			used[tag.Category] = true
		}
	}
	return used
}

func tagsOf(l *listing) map[string]bool {
	ids := make(map[string]bool)
	for _, tags := range l.attached {
		for _, id := range tags {
			ids[id] = true
		}
	}
	return ids
}

// absent returns the requested categories that do not exist or are not visible. It lists all categories only if
// a requested category has no attached tag. If the listing fails, the previous one applies until maxNameLifetime.
func (c *cache) absent(ctx context.Context, s Service, wanted []string, used map[string]bool, now time.Time) (absent []string, refreshErr, err error) {
	unused := make(map[string]bool)
	for id := range c.usedCategories {
		if !used[id] {
			unused[id] = true // The account may have lost access.
		}
	}
	if err := c.categories.verify(ctx, s, unused, c.parallel, now); err != nil {
		return nil, nil, fmt.Errorf("reading tag categories that are no longer in use: %w", err)
	}
	if now.Sub(c.categoriesListedAt) < NameLifetime || !slices.ContainsFunc(wanted, func(category string) bool { return !c.hasCategoryNamed(category, used) }) {
		return c.unknownCategories(wanted), nil, nil
	}
	err = c.listCategories(ctx, s, used, now)
	if err != nil && now.Sub(c.categoriesListedAt) < maxNameLifetime && rest.ClassOf(err) != rest.Unauthenticated && ctx.Err() == nil {
		return c.unknownCategories(wanted), err, nil
	}
	return c.unknownCategories(wanted), nil, err
}

// listCategories treats a denied call as an empty list.
func (c *cache) listCategories(ctx context.Context, s Service, used map[string]bool, now time.Time) error {
	ids, err := s.Categories(ctx)
	if err != nil && rest.ClassOf(err) != rest.Denied {
		return fmt.Errorf("listing the tag categories: %w", err)
	}
	visible := make(map[string]bool)
	for _, id := range ids {
		visible[id] = true
	}
	if err := c.categories.verify(ctx, s, c.stale(&c.categories, visible, NameLifetime), c.parallel, now); err != nil {
		return fmt.Errorf("reading tag categories: %w", err)
	}
	for id := range c.categories.byID {
		if !visible[id] && !used[id] {
			delete(c.categories.byID, id)
		}
	}
	c.categoriesListedAt = now
	return nil
}

func (c *cache) hasCategoryNamed(category string, ids map[string]bool) bool {
	for id := range ids {
		if known := c.categories.byID[id]; known.readErr == nil && known.Name == category {
			return true
		}
	}
	return false
}

func (c *cache) unknownCategories(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(category string) bool {
		for _, known := range c.categories.byID {
			if known.readErr == nil && known.Name == category {
				return true
			}
		}
		return false
	})
}
