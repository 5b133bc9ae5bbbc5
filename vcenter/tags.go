package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/topology"
)

const (
	// objectsPerTagRequest bounds a batch of objects whose tags are listed.
	objectsPerTagRequest = 2000
	// tagNamesFor is how long the names of tags and categories are kept.
	tagNamesFor = 5 * time.Minute
)

// attachments are the tags attached to a set of objects.
type attachments struct {
	// tags has an entry, if an empty one, for each object that was asked for.
	tags map[types.ManagedObjectReference][]topology.Tag
	// absent are the wanted categories that the vCenter does not have.
	absent []string
	// err says why they could not be read.
	err error
}

var errTagsNotRead = errors.New("not read yet")

// of never takes tags that were not read for tags that are not there.
func (a attachments) of(ref types.ManagedObjectReference) ([]topology.Tag, error) {
	if a.err != nil {
		return nil, a.err
	}
	tags, ok := a.tags[ref]
	if !ok {
		return nil, errTagsNotRead
	}
	return tags, nil
}

// equal compares what is known. Errors are compared by what they say: what they
// hold may be in use elsewhere.
func (a attachments) equal(b attachments) bool {
	return says(a.err) == says(b.err) && slices.Equal(a.absent, b.absent) && maps.EqualFunc(a.tags, b.tags, slices.Equal)
}

func says(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// covers says whether the tags of all these objects were asked for.
func (a attachments) covers(refs []types.ManagedObjectReference) bool {
	for _, ref := range refs {
		if _, ok := a.tags[ref]; !ok {
			return false
		}
	}
	return true
}

// tagNames remembers what tag and category IDs stand for. It belongs to the
// goroutine that reads.
type tagNames struct {
	since      time.Time
	tags       map[string]tags.Tag
	categories map[string]string
	// listed says that categories has all that there are.
	listed bool
}

// attachedTags reads the tags of objects in batches.
func (s *session) attachedTags(ctx context.Context, refs []types.ManagedObjectReference, wanted []string, names *tagNames) (attachments, error) {
	result := attachments{tags: make(map[types.ManagedObjectReference][]topology.Tag, len(refs))}
	for _, ref := range refs {
		result.tags[ref] = nil
	}
	err := s.withREST(ctx, func(c *rest.Client) error {
		m := tags.NewManager(c)
		attached, err := s.listAttached(ctx, m, refs)
		if err != nil {
			return fmt.Errorf("listing the tags of %d objects: %w", len(refs), err)
		}
		if err := s.learn(ctx, m, attached, names); err != nil {
			return err
		}
		if result.absent, err = s.absentCategories(ctx, m, wanted, names); err != nil {
			return err
		}
		for _, a := range attached {
			ref := a.ObjectID.Reference()
			for _, id := range a.TagIDs {
				if t, ok := names.tags[id]; ok {
					result.tags[ref] = append(result.tags[ref],
						topology.Tag{Category: names.categories[t.CategoryID], Name: t.Name})
				}
			}
		}
		return nil
	})
	return result, err
}

func (s *session) listAttached(ctx context.Context, m *tags.Manager, refs []types.ManagedObjectReference) ([]tags.AttachedTags, error) {
	var attached []tags.AttachedTags
	for some := range slices.Chunk(refs, objectsPerTagRequest) {
		objects := make([]mo.Reference, len(some))
		for i, ref := range some {
			objects[i] = ref
		}
		err := s.calls.do(ctx, "tagging: list attached tags", func(ctx context.Context) error {
			a, err := m.ListAttachedTagsOnObjects(ctx, objects)
			attached = append(attached, a...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return attached, nil
}

// learn reads the tags and categories whose names are not known yet. A tag that
// was deleted since it was listed is no longer attached, so it is passed over.
func (s *session) learn(ctx context.Context, m *tags.Manager, attached []tags.AttachedTags, names *tagNames) error {
	if time.Since(names.since) > tagNamesFor {
		*names = tagNames{since: time.Now(), tags: map[string]tags.Tag{}, categories: map[string]string{}}
	}
	unknown := map[string]bool{}
	for _, a := range attached {
		for _, id := range a.TagIDs {
			if _, ok := names.tags[id]; !ok {
				unknown[id] = true
			}
		}
	}
	var mu sync.Mutex
	err := s.eachAtOnce(ctx, "tagging: get tag", unknown, func(ctx context.Context, id string) error {
		t, err := m.GetTag(ctx, id)
		if isStatus(err, http.StatusNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading tag %s: %w", id, err)
		}
		mu.Lock()
		defer mu.Unlock()
		names.tags[id] = *t
		return nil
	})
	if err != nil {
		return err
	}
	unnamed := map[string]bool{}
	for _, t := range names.tags {
		if _, ok := names.categories[t.CategoryID]; !ok {
			unnamed[t.CategoryID] = true
		}
	}
	return s.nameCategories(ctx, m, unnamed, names)
}

// nameCategories reads the names of categories. One that is gone by now is passed
// over.
func (s *session) nameCategories(ctx context.Context, m *tags.Manager, unnamed map[string]bool, names *tagNames) error {
	var mu sync.Mutex
	return s.eachAtOnce(ctx, "tagging: get category", unnamed, func(ctx context.Context, id string) error {
		c, err := m.GetCategory(ctx, id)
		if isStatus(err, http.StatusNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading tag category %s: %w", id, err)
		}
		mu.Lock()
		defer mu.Unlock()
		names.categories[id] = c.Name
		return nil
	})
}

// absentCategories returns the wanted categories that the vCenter does not have.
// All that there are have to be read only where one of them has no tag on any of
// the objects.
func (s *session) absentCategories(ctx context.Context, m *tags.Manager, wanted []string, names *tagNames) ([]string, error) {
	absent := names.without(wanted)
	if len(absent) == 0 || names.listed {
		return absent, nil
	}
	unnamed := map[string]bool{}
	err := s.calls.do(ctx, "tagging: list categories", func(ctx context.Context) error {
		ids, err := m.ListCategories(ctx)
		for _, id := range ids {
			if _, ok := names.categories[id]; !ok {
				unnamed[id] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the tag categories: %w", err)
	}
	if err := s.nameCategories(ctx, m, unnamed, names); err != nil {
		return nil, err
	}
	names.listed = true
	return names.without(wanted), nil
}

// without returns those of the wanted categories that are not known.
func (n *tagNames) without(wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool {
		for _, known := range n.categories {
			if known == name {
				return true
			}
		}
		return false
	})
}

// eachAtOnce calls f for each ID with a deadline of its own, several at a time.
func (s *session) eachAtOnce(ctx context.Context, call string, ids map[string]bool, f func(context.Context, string) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(s.calls.slots))
	for id := range ids {
		g.Go(func() error {
			return s.calls.do(ctx, call, func(ctx context.Context) error { return f(ctx, id) })
		})
	}
	return g.Wait()
}
