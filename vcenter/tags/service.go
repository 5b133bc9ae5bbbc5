package tags

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/rest"
	"vzones/vcenter/session"
)

// A Ref is a managed object of the vCenter.
type Ref = types.ManagedObjectReference

func compareRefs(a, b Ref) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Value, b.Value))
}

// A Tag is a tag's name and the ID of its category.
type Tag struct {
	Name     string `json:"name"`
	Category string `json:"category_id"`
}

// A Category is a tag category as the service describes it.
type Category struct {
	Name string `json:"name"`
	// Cardinality is SINGLE or MULTIPLE: how many of its tags an object may have.
	Cardinality string `json:"cardinality"`
	// Types are the types of objects that its tags may be attached to, all if empty.
	Types []string `json:"associable_types"`
}

// A Service is the tagging API of one session. Its methods are called concurrently; each
// bounds its own request.
type Service interface {
	// Attached returns the IDs of the tags attached to objects.
	Attached(context.Context, []Ref) (map[Ref][]string, error)
	// Tag reads a tag, Category a category.
	Tag(ctx context.Context, id string) (Tag, error)
	Category(ctx context.Context, id string) (Category, error)
	// Categories returns the IDs of all categories that the account may read.
	Categories(context.Context) ([]string, error)
}

// With calls f with the tagging API of a session, after logging in where that is needed.
func With(ctx context.Context, s *session.REST, f func(Service) error) error {
	return s.With(ctx, func(c *rest.Client) error { return f(NewClient(c, s.Do)) })
}

// A Query is what a reading is about.
type Query struct {
	// Objects are those whose tags are read, in order; Paths are their inventory paths, for
	// a person.
	Objects []Ref
	Paths   map[Ref]string
	// Categories are the names of those that matter, all if empty.
	Categories []string
	// Age is how old a name that matters may be, NamesFor if zero.
	Age time.Duration
}

func (q *Query) matters(category string) bool {
	return len(q.Categories) == 0 || slices.Contains(q.Categories, category)
}
