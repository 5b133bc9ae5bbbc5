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

// A Tag is a name and a category ID.
type Tag struct {
	Name     string `json:"name"`
	Category string `json:"category_id"`
}

// A Category is a tag category.
type Category struct {
	Name string `json:"name"`
	// Cardinality is SINGLE or MULTIPLE: the tags per object.
	Cardinality string `json:"cardinality"`
	// Types are the object types for its tags; empty means all.
	Types []string `json:"associable_types"`
}

// A Service is the tagging API of one session. It is safe for concurrent use.
type Service interface {
	// Attached returns tag IDs. Objects without tags may be omitted.
	Attached(context.Context, []Ref) (map[Ref][]string, error)
	Tag(ctx context.Context, id string) (Tag, error)
	Category(ctx context.Context, id string) (Category, error)
	// Categories returns the IDs of all readable categories.
	Categories(context.Context) ([]string, error)
}

// With calls f, after a login if necessary.
func With(ctx context.Context, s *session.REST, f func(Service) error) error {
	return s.With(ctx, func(c *rest.Client) error { return f(NewClient(c, s.Do)) })
}

// A Query contains the parameters of a read.
type Query struct {
	// Objects are read. Paths are their inventory paths for the log.
	Objects []Ref
	Paths   map[Ref]string
	// Categories are the relevant names; empty means all.
	Categories []string
	// MaxNameAge is the maximum age of a relevant name; NameLifetime if zero.
	MaxNameAge time.Duration
}

func (q *Query) isRelevant(category string) bool {
	return len(q.Categories) == 0 || slices.Contains(q.Categories, category)
}
