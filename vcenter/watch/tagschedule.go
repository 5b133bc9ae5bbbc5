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
	changeReadBurst    = 10
	changeReadInterval = 500 * time.Millisecond
)

type tagReading struct {
	tags.Attachments
	// categories are the categories that NamesRead applies to.
	categories []string
	requested  bool
}

type tagObjects struct {
	refs  []types.ManagedObjectReference
	paths map[types.ManagedObjectReference]string
}

// A tagSchedule decides which objects' tags are read, and when. The model goroutine owns it; tagLoop
// shares only its channels.
type tagSchedule struct {
	refs        []types.ManagedObjectReference
	paths       map[types.ManagedObjectReference]string
	wanted      chan tagObjects
	found       chan tagReading
	tagNames    inventory.TagNames
	unpublished bool
	// pace limits reads caused by changes of the inventory. nextAllowed is nil if none is pending.
	pace        *rate.Limiter
	nextAllowed <-chan time.Time
}

func newTagSchedule() *tagSchedule {
	return &tagSchedule{
		wanted: make(chan tagObjects, 1), found: make(chan tagReading),
		pace: rate.NewLimiter(rate.Every(changeReadInterval), changeReadBurst),
	}
}

func (t *tagSchedule) setObjects(refs []types.ManagedObjectReference, tree *model.Tree) {
	if slices.Equal(refs, t.refs) {
		return
	}
	t.refs = refs
	t.paths = make(map[types.ManagedObjectReference]string, len(refs))
	for _, ref := range refs {
		t.paths[ref] = tree.Path(ref)
	}
	if t.nextAllowed == nil {
		t.request()
	}
}

func (t *tagSchedule) request() {
	t.nextAllowed = nil
	reservation := t.pace.Reserve()
	if wait := reservation.Delay(); wait > 0 {
		reservation.Cancel()
		t.nextAllowed = time.After(wait)
		return
	}
	select {
	case <-t.wanted:
	default:
	}
	t.wanted <- tagObjects{t.refs, t.paths}
}

func (t *tagSchedule) apply(r tagReading, m *model.Model) (changed bool) {
	tagNames := inventory.TagNames{ReadAt: r.NamesRead, Categories: r.categories}
	t.unpublished = t.unpublished || r.requested || tagNames.ReadAt != t.tagNames.ReadAt || !slices.Equal(tagNames.Categories, t.tagNames.Categories)
	t.tagNames = tagNames
	return m.SetTags(r.Attachments)
}

func (t *tagSchedule) publish() inventory.TagNames {
	t.unpublished = false
	return t.tagNames
}
