package watch

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/time/rate"

	"vzones/vcenter/inventory"
	"vzones/vcenter/tags"
	"vzones/vcenter/watch/model"
)

const (
	// tagChangesMax and tagChangesPause are burst and interval of the reads that changes of the
	// inventory cause.
	tagChangesMax   = 10
	tagChangesPause = 500 * time.Millisecond
)

type tagReading struct {
	tags.Attachments
	// categories are those whose names Named applies to.
	categories []string
	// awaited reports whether the read was requested.
	awaited bool
}

// tagObjects are objects with their inventory paths, which are used in logs.
type tagObjects struct {
	refs  []types.ManagedObjectReference
	paths map[types.ManagedObjectReference]string
}

// A tagSchedule decides which objects' tags are read, and when. The model goroutine owns it; tagLoop
// shares only its channels.
type tagSchedule struct {
	// refs and paths are the objects last requested.
	refs  []types.ManagedObjectReference
	paths map[types.ManagedObjectReference]string
	// wanted is a mailbox for the latest objects. found receives the results.
	wanted chan tagObjects
	found  chan tagReading
	// named is the age of the model's tag names, unpublished whether to publish it.
	named       inventory.TagNames
	unpublished bool
	// pace limits reads caused by changes of the inventory. due fires when the next one is allowed; nil
	// if none is needed.
	pace *rate.Limiter
	due  <-chan time.Time
}

func newTagSchedule() *tagSchedule {
	return &tagSchedule{
		wanted: make(chan tagObjects, 1), found: make(chan tagReading),
		pace: rate.NewLimiter(rate.Every(tagChangesPause), tagChangesMax),
	}
}

// follow requests the tags of these objects, if they have changed.
func (t *tagSchedule) follow(refs []types.ManagedObjectReference, tree *model.Tree) {
	if slices.Equal(refs, t.refs) {
		return
	}
	t.refs = refs
	t.paths = make(map[types.ManagedObjectReference]string, len(refs))
	for _, ref := range refs {
		t.paths[ref] = tree.Path(ref)
	}
	if t.due == nil {
		t.request()
	}
}

// request requests a read now or as soon as the pace allows.
func (t *tagSchedule) request() {
	t.due = nil
	turn := t.pace.Reserve()
	if wait := turn.Delay(); wait > 0 {
		turn.Cancel()
		t.due = time.After(wait)
		return
	}
	select {
	case <-t.wanted:
	default:
	}
	t.wanted <- tagObjects{t.refs, t.paths}
}

// take applies a reading and reports whether the model has changed.
func (t *tagSchedule) take(r tagReading, m *model.Model) (changed bool) {
	named := inventory.TagNames{ReadAt: r.Named, Categories: r.categories}
	t.unpublished = t.unpublished || r.awaited || named.ReadAt != t.named.ReadAt || !slices.Equal(named.Categories, t.named.Categories)
	t.named = named
	return m.SetTags(r.Attachments)
}

// published returns the age of the tag names, and marks it as published.
func (t *tagSchedule) published() inventory.TagNames {
	t.unpublished = false
	return t.named
}
