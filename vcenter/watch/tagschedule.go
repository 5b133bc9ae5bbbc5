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
	// tagChangesMax is how many readings of tags changes of the inventory may start at once,
	// and tagChangesPause the pause between further ones, however often machines move.
	tagChangesMax   = 10
	tagChangesPause = 500 * time.Millisecond
)

// A tagReading is what a reading has found.
type tagReading struct {
	tags.Attachments
	// categories are those whose names count in Named.
	categories []string
	// awaited reports whether somebody waits for it, whatever it has found.
	awaited bool
}

// tagObjects are the objects whose tags are to be read, with their inventory paths.
type tagObjects struct {
	refs  []types.ManagedObjectReference
	paths map[types.ManagedObjectReference]string
}

// A tagSchedule decides which objects' tags are read, and when because of changes of the
// inventory. It belongs to the goroutine of the model; the one that reads tags has only its
// channels.
type tagSchedule struct {
	// refs are the objects whose tags were last asked for, in order, and paths their
	// inventory paths, for the log.
	refs  []types.ManagedObjectReference
	paths map[types.ManagedObjectReference]string
	// wanted has room for one: the schedule sends, and takes back what was not
	// received. found has the results, sent by the reading goroutine. Nobody closes them.
	wanted chan tagObjects
	found  chan tagReading
	// named is how old the names of the model's tags are; unpublished reports whether
	// that is to be published, since it has changed or somebody waits for it.
	named       inventory.TagNames
	unpublished bool
	// pace is that of readings for changes of the inventory, and due is when the next one may
	// be, nil if there is nothing to read.
	pace *rate.Limiter
	due  <-chan time.Time
}

func newTagSchedule() *tagSchedule {
	return &tagSchedule{
		wanted: make(chan tagObjects, 1), found: make(chan tagReading),
		pace: rate.NewLimiter(rate.Every(tagChangesPause), tagChangesMax),
	}
}

// follow asks for the tags of these objects, if they have changed.
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

// request has the tags read now, or when the readings before allow it.
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

// take applies a reading, and reports whether it has changed the model.
func (t *tagSchedule) take(r tagReading, m *model.Model) (changed bool) {
	named := inventory.TagNames{ReadAt: r.Named, Categories: r.categories}
	t.unpublished = t.unpublished || r.awaited || named.ReadAt != t.named.ReadAt || !slices.Equal(named.Categories, t.named.Categories)
	t.named = named
	return m.SetTags(r.Attachments)
}

// published returns how old the names are that are published now.
func (t *tagSchedule) published() inventory.TagNames {
	t.unpublished = false
	return t.named
}
