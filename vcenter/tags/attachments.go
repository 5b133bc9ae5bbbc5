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
	// ErrDeleted means that the tagging service does not know an object of the inventory.
	ErrDeleted = errors.New("the tagging service does not know the object: it was deleted or has just been created")
	// errForbidden is for HTTP 403, which vCenter also returns for an unknown object.
	errForbidden = fmt.Errorf("%w, or it was deleted or has just been created", topology.ErrNotPermitted)
)

// Attachments are the immutable result of one read.
type Attachments struct {
	// Absent are the requested categories that do not exist or are unreadable.
	Absent []string
	// Present are all readable categories, sorted, if Absent is not empty.
	Present []string
	// Err means that no tags could be read. If nil, single objects may still have errors.
	Err error
	// RefreshErr is the error if names could not be refreshed and older names are in use.
	RefreshErr error
	// NamesRead is the time of the oldest read of a relevant name.
	NamesRead time.Time
	// Incomplete reports whether some objects are still to be read.
	Incomplete bool

	// Every requested object has an entry in tags or in errs.
	tags map[Ref][]topology.Tag
	errs map[Ref]error
}

// TagsOf returns an object's tags. If they were not read, the error is topology.ErrNotRead.
func (a Attachments) TagsOf(ref Ref) ([]topology.Tag, error) {
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

// Equal compares tags, categories and error texts.
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

// Covers reports whether all these objects were requested.
func (a Attachments) Covers(refs []Ref) bool {
	for _, ref := range refs {
		if _, ok := a.tags[ref]; !ok && a.errs[ref] == nil {
			return false
		}
	}
	return true
}

// Len returns the number of objects with known tags, even if none.
func (a Attachments) Len() int { return len(a.tags) }

// NotPermitted returns the objects with unreadable tags, sorted.
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
