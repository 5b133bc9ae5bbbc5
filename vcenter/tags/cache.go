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

// forbiddenFor is how long a tag that the account may not read is not asked for again,
// in refresh intervals: 2 minutes by default.
const forbiddenFor = 4

// A cache reads the tags of one vCenter, and remembers between two readings what need not be
// read again: names, objects that the account may not read, and what was attached.
type cache struct {
	refresh  time.Duration
	parallel int

	objects    objects
	tags       names
	categories names
	// listed is when all categories were listed.
	listed time.Time

	// attached are the IDs of the tags of each object at the last reading, withheld
	// those that are not attached any more because the account may no longer read them.
	attached map[Ref][]string
	withheld map[Ref]map[string]bool
	// used are the categories of these tags.
	used map[string]bool
}

// newCache returns a cache that is asked once in each refresh interval, and has up to
// parallel requests under way.
func newCache(refresh time.Duration, parallel int) *cache {
	return &cache{
		refresh: refresh, parallel: parallel,
		tags: names{byID: map[string]name{}, get: func(ctx context.Context, s Service, id string) (Tag, error) { return s.Tag(ctx, id) }},
		categories: names{byID: map[string]name{}, get: func(ctx context.Context, s Service, id string) (Tag, error) {
			category, err := s.Category(ctx, id)
			return Tag{Name: category.Name}, err
		}},
	}
}

// forgetRefusals forgets what the account may not do: it is another account, or has other
// privileges by now.
func (c *cache) forgetRefusals() {
	c.objects = objects{}
	for _, n := range []*names{&c.tags, &c.categories} {
		for id, known := range n.byID {
			if known.refused != nil {
				delete(n.byID, id)
			}
		}
	}
	c.listed = time.Time{}
}

// read reads the tags of objects, and which of the wanted categories the vCenter does not
// have. An error says that nothing could be read; what is remembered stays.
func (c *cache) read(ctx context.Context, s Service, q Query) (Attachments, error) {
	now := time.Now()
	c.tags.forget(c.needed(), now, NamesFor) // also after readings that failed
	refs := q.Objects
	wanted := q.Categories
	q.Age = cmp.Or(q.Age, NamesFor)
	l, err := c.objects.list(ctx, s, refs, now, c.refresh)
	if err != nil {
		return Attachments{}, fmt.Errorf("listing the tags of %d objects: %w", len(refs), err)
	}
	gone, err := c.gone(l)
	if err != nil {
		return Attachments{}, err
	}
	kept, err := c.learn(ctx, s, l, gone, &q)
	if err != nil {
		return Attachments{}, err
	}
	used := c.inUse(l)
	absent, keptCategories, err := c.absent(ctx, s, wanted, used, now)
	if err != nil {
		return Attachments{}, err
	}
	c.remember(refs, l, gone, used)
	c.tags.forget(c.needed(), now, NamesFor)
	c.categories.forget(used, now, namesAtMost)
	a := Attachments{
		Absent: absent, Named: c.named(l, used, &q), Kept: quote.Errors(2, kept, keptCategories), More: len(c.objects.queue) > 0,
		tags: make(map[Ref][]topology.Tag, len(refs)), errs: c.objects.errs(l, refs),
	}
	if len(absent) > 0 {
		for _, known := range c.categories.byID {
			if known.refused == nil {
				a.Present = append(a.Present, known.Name)
			}
		}
		slices.Sort(a.Present)
	}
	for ref, ids := range l.attached {
		if tags, err := c.name(ref, ids); err != nil {
			a.errs[ref] = err
		} else {
			a.tags[ref] = tags
		}
	}
	return a, nil
}

// gone returns the tags that objects had at the last reading and have no more, by object.
// They were detached or deleted, or the account may no longer read them: what it may not
// read is left out of lists.
func (c *cache) gone(l *listing) (map[Ref]map[string]bool, error) {
	gone := make(map[Ref]map[string]bool)
	n := 0
	note := func(ref Ref, id string) {
		if gone[ref] == nil {
			gone[ref] = make(map[string]bool)
		}
		gone[ref][id] = true
		n++
	}
	for ref, ids := range l.attached {
		for _, id := range c.attached[ref] {
			if !slices.Contains(ids, id) {
				note(ref, id)
			}
		}
		for id := range c.withheld[ref] {
			if !slices.Contains(ids, id) {
				note(ref, id)
			}
		}
	}
	if n > faults.MaxAttached {
		return nil, faults.ManyTags
	}
	return gone, nil
}

// remember keeps for the next reading what objects have, and which of their tags are gone
// because the account may no longer read them. What is known of objects that were not
// listed this time stays.
func (c *cache) remember(refs []Ref, l *listing, gone map[Ref]map[string]bool, used map[string]bool) {
	attached := l.attached
	withheld := make(map[Ref]map[string]bool)
	if len(attached) < len(refs) {
		attached = maps.Clone(attached)
		for _, ref := range refs {
			if _, listed := attached[ref]; listed {
				continue
			}
			if before, ok := c.attached[ref]; ok {
				attached[ref] = before
			}
			if before := c.withheld[ref]; len(before) > 0 {
				withheld[ref] = before
			}
		}
	}
	for ref, ids := range gone {
		for id := range ids {
			if rest.ClassOf(c.tags.byID[id].refused) != rest.Denied {
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
	c.used = used
}

// needed returns the IDs of the tags that are remembered to be attached, or withheld.
func (c *cache) needed() map[string]bool {
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

// name turns the IDs of an object's tags into tags, in order. One that the account may not
// read makes them unknown.
func (c *cache) name(ref Ref, ids []string) ([]topology.Tag, error) {
	for id := range c.withheld[ref] {
		return nil, fmt.Errorf("the account may no longer read the tag %s, which was attached", c.describe(id))
	}
	var tags []topology.Tag
	for _, id := range ids {
		tag := c.tags.byID[id]
		if tag.refused != nil {
			return nil, fmt.Errorf("the account may not read the tag %s, which is attached: %w", c.describe(id), tag.refused)
		}
		category := c.categories.byID[tag.Category]
		if category.refused != nil {
			return nil, fmt.Errorf("the account may not read the category of the tag %s, which is attached: %w", c.describe(id), category.refused)
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

// inUse returns the categories of the tags that are attached.
func (c *cache) inUse(l *listing) map[string]bool {
	used := make(map[string]bool)
	for id := range tagsOf(l) {
		if tag := c.tags.byID[id]; tag.refused == nil && tag.Category != "" {
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

// absent returns the wanted categories that the account cannot see. All that there are
// have to be read only where one of them has no tag on any of the objects. If that fails
// after it has succeeded before, what was known then is kept.
func (c *cache) absent(ctx context.Context, s Service, wanted []string, used map[string]bool, now time.Time) (absent []string, kept, err error) {
	left := make(map[string]bool)
	for id := range c.used {
		if !used[id] {
			left[id] = true // perhaps it cannot be seen any more
		}
	}
	if err := c.categories.verify(ctx, s, left, c.parallel, now); err != nil {
		return nil, nil, fmt.Errorf("reading tag categories that are not in use any more: %w", err)
	}
	if now.Sub(c.listed) < NamesFor || !slices.ContainsFunc(wanted, func(category string) bool { return !c.has(category, used) }) {
		return c.without(wanted), nil, nil
	}
	err = c.listCategories(ctx, s, used, now)
	if err != nil && now.Sub(c.listed) < namesAtMost && rest.ClassOf(err) != rest.Unauthenticated && ctx.Err() == nil {
		return c.without(wanted), err, nil
	}
	return c.without(wanted), nil, err
}

// listCategories reads the names of all categories. An account that may not list any is
// one that none is shown to.
func (c *cache) listCategories(ctx context.Context, s Service, used map[string]bool, now time.Time) error {
	ids, err := s.Categories(ctx)
	if err != nil && rest.ClassOf(err) != rest.Denied {
		return fmt.Errorf("listing the tag categories: %w", err)
	}
	there := make(map[string]bool)
	for _, id := range ids {
		there[id] = true
	}
	if err := c.categories.verify(ctx, s, c.stale(&c.categories, there, NamesFor), c.parallel, now); err != nil {
		return fmt.Errorf("reading tag categories: %w", err)
	}
	for id := range c.categories.byID {
		if !there[id] && !used[id] {
			delete(c.categories.byID, id)
		}
	}
	c.listed = now
	return nil
}

// has reports whether one of these categories has that name.
func (c *cache) has(category string, ids map[string]bool) bool {
	for id := range ids {
		if known := c.categories.byID[id]; known.refused == nil && known.Name == category {
			return true
		}
	}
	return false
}

// without returns those of the wanted categories that are not known.
func (c *cache) without(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(category string) bool {
		for _, known := range c.categories.byID {
			if known.refused == nil && known.Name == category {
				return true
			}
		}
		return false
	})
}
