package watch

import (
	"net/url"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/watch/model"
)

// eventsPause is the least time between two readings of tags that events cause.
const eventsPause = 5 * time.Second

// An eventSchedule decides when events of tagging have tags read. It belongs to the goroutine
// of the model.
type eventSchedule struct {
	// due is when events have tags read, nil where none asks for it; read is when they
	// last had. last is the key of the last event.
	due  <-chan time.Time
	read time.Time
	last int32
}

// apply applies a change of the collector's latest page. Tags of these objects are read at
// most once in eventsPause because of it, the last time after the last event.
func (e *eventSchedule) apply(u *types.ObjectUpdate, refs []types.ManagedObjectReference, tree *model.Tree) {
	if e.due == nil && e.concern(u, refs, tree) {
		e.due = time.After(eventsPause - time.Since(e.read))
	}
}

// reading notes that tags are read now.
func (e *eventSchedule) reading() { e.due, e.read = nil, time.Now() }

// concern reports whether new events on a page may be about one of these objects. On
// vCenter 7 and 8 such an event has the name of its object among its arguments and says
// nothing else of it.
func (e *eventSchedule) concern(u *types.ObjectUpdate, refs []types.ManagedObjectReference, tree *model.Tree) bool {
	var page []types.BaseEvent
	for _, change := range u.ChangeSet {
		switch v := change.Val.(type) {
		case nil: // events that have left the page, or an empty one
		case types.ArrayOfEvent:
			page = append(page, v.Event...)
		case types.BaseEvent:
			page = append(page, v)
		default:
			return true
		}
	}
	fresh, last, concern := 0, e.last, false
	for _, event := range page {
		if event == nil {
			return true
		}
		key := event.GetEvent().Key
		if key <= e.last && key != 0 {
			continue
		}
		fresh++
		last = max(last, key)
		concern = concern || isAbout(event, refs, tree)
	}
	e.last = last
	// Where all of a page is new, others may have been on it meanwhile.
	return concern || fresh >= eventsPage
}

// isAbout reports whether an event may be about one of the objects. Nothing is ruled out
// that is not certain.
func isAbout(event types.BaseEvent, refs []types.ManagedObjectReference, tree *model.Tree) bool {
	x, ok := event.(*types.EventEx)
	if !ok {
		return true
	}
	name := strings.TrimSpace(x.ObjectName)
	for _, arg := range x.Arguments {
		if s, ok := arg.Value.(string); ok && arg.Key == "Object" {
			name = strings.TrimSpace(s)
		}
	}
	if name == "" && (x.ObjectId == "" || x.ObjectType == "") {
		return true
	}
	for _, ref := range refs {
		known := strings.TrimSpace(tree.Name(ref))
		if known == "" || x.ObjectId == ref.Value || namedIn(name, known) {
			return true
		}
	}
	return false
}

// namedIn reports whether a text is the name of an object, or a list with it.
func namedIn(text, name string) bool {
	same := func(s string) bool { return strings.EqualFold(unescaped(strings.TrimSpace(s)), unescaped(name)) }
	if same(text) {
		return true
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",;\r\n", r) }) {
		if same(part) {
			return true
		}
	}
	return false
}

// unescaped undoes vSphere's %2f, %5c and %25.
func unescaped(name string) string {
	if s, err := url.PathUnescape(name); err == nil {
		return s
	}
	return name
}
