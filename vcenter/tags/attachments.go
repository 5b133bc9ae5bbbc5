package tags

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"vzones/topology"
)

var (
	// ErrDeleted says that the tagging service does not know an object that SOAP shows.
	ErrDeleted = errors.New("the tagging service does not know the object: it was deleted, or made just now")
	// errForbidden is the reason for HTTP 403. vCenter has no other answer for an object that the tagging service does
	// not know.
	errForbidden = fmt.Errorf("%w, or it was deleted or made just now", topology.ErrNotPermitted)
)

// Attachments are the tags attached to a set of objects, as one reading has found them.
// They are never changed.
type Attachments struct {
	// Absent are the wanted categories that the vCenter does not have, or that the account
	// may not read, in the order in which they were wanted.
	Absent []string
	// Present are all categories that the account may read, in order, where one is absent.
	Present []string
	// Err is why no tags could be read. Nil means that those of each object are known
	// or unknown on their own.
	Err error
	// Kept is why names of tags are as they were read before; nil if they are not.
	Kept error
	// Named is when the oldest of the names that matter was read.
	Named time.Time
	// More reports whether some objects could not be asked for in the bounds of one reading:
	// the next one should come soon.
	More bool

	// tags and errs together have an entry for each object that was asked for, if an
	// empty one.
	tags map[Ref][]topology.Tag
	errs map[Ref]error
}

// Of returns the tags of an object. It never takes tags that were not read for tags
// that are not there: the error is topology.ErrNotRead, also if nobody asked for them.
func (a Attachments) Of(ref Ref) ([]topology.Tag, error) {
	if a.Err != nil {
		return nil, a.Err
	}
	if err := a.errs[ref]; err != nil {
		return nil, err
	}
	tags, ok := a.tags[ref]
	if !ok {
		return nil, topology.ErrNotRead
	}
	return tags, nil
}

// Equal reports whether two readings say the same. Errors are compared by their
// text: what they hold may be in use elsewhere.
func (a Attachments) Equal(b Attachments) bool {
	return textOf(a.Err) == textOf(b.Err) && slices.Equal(a.Absent, b.Absent) && slices.Equal(a.Present, b.Present) && maps.EqualFunc(a.tags, b.tags, slices.Equal) &&
		maps.EqualFunc(a.errs, b.errs, func(x, y error) bool { return textOf(x) == textOf(y) })
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Covers reports whether the tags of all these objects were asked for.
func (a Attachments) Covers(refs []Ref) bool {
	for _, ref := range refs {
		if _, ok := a.tags[ref]; !ok && a.errs[ref] == nil {
			return false
		}
	}
	return true
}

// Len returns of how many objects the tags are known, objects without any included.
func (a Attachments) Len() int { return len(a.tags) }

// NotPermitted returns the objects whose tags the account may not read, in order. The tagging service may also not know
// them: because they were deleted, or made just now.
func (a Attachments) NotPermitted() []Ref {
	var refs []Ref
	for ref, err := range a.errs {
		if errors.Is(err, topology.ErrNotPermitted) {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, compareRefs)
	return refs
}
