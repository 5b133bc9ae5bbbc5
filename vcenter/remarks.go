package vcenter

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/topology/quote"
)

// remarkAgain is how long nothing is said again of what has ceased and come back: a guest
// can change what it says all the time.
const remarkAgain = 10 * time.Minute

// remarks are what the log says of guests: once of each machine and subject, as long as
// it is so.
type remarks map[remark]remarked

type remark struct{ machine, subject string }

type remarked struct {
	holds bool
	// until is when it may be said again, if it does not hold any more.
	until time.Time
}

// due reports whether something is to be said: it is so, and was not said before.
func (r remarks) due(key remark, holds bool, now time.Time) bool {
	before, said := r[key]
	if !holds {
		if said && before.holds {
			r[key] = remarked{until: now.Add(remarkAgain)}
		}
		return false
	}
	again := said && (before.holds || now.Before(before.until))
	if !said {
		for k, old := range r {
			if !old.holds && now.After(old.until) {
				delete(r, k)
			}
		}
	}
	r[key] = remarked{holds: true}
	return !again
}

// The subjects of remarks.
const (
	ofMetadata = "metadata"
	ofReport   = "report"
	ofHostName = "host name"
)

// remarkOnGuests logs what of guests does not count, of machines of which something new
// has come or that are gone, without a word of what they say.
func (w *watch) remarkOnGuests(ctx context.Context) {
	t := w.model.tree
	log := klog.FromContext(ctx).V(2)
	for ref := range t.guests {
		for _, odd := range t.objects[ref].oddities() {
			if w.c.remarks.due(remark{ref.Value, odd.subject}, odd.err != nil, time.Now()) {
				log.Info(odd.what, "moid", ref.Value, "err", quote.Line(odd.err.Error()))
			}
		}
	}
	clear(t.guests)
}

// An oddity is something of a guest's that does not count, for a reason; it does if
// there is none.
type oddity struct {
	subject, what string
	err           error
}

func (p properties) oddities() []oddity {
	var name error
	if n, odd := p[guestHostName].(oddName); odd {
		name = fmt.Errorf("it has %d bytes; a host name has letters, digits, hyphens, underscores and dots, and at most %d of them", int(n), maxHostName)
	}
	return []oddity{
		{subject: ofMetadata, what: "The addresses in the machine's guestinfo.metadata do not count", err: p.static().unreadable},
		{subject: ofReport, what: "The addresses that the machine's guest reports do not count", err: p.report().refused},
		{subject: ofHostName, what: "The host name that the machine's guest reports does not count", err: name},
	}
}

// isGuests reports whether a guest decides a property.
func isGuests(property string) bool {
	return property == guestHostName || property == guestNet || isMetadata(property)
}

// isMetadata reports whether a property is the metadata: a vCenter may tell of what has
// changed below a property.
func isMetadata(property string) bool {
	return property == guestMetadata || property == guestMetadata+".value"
}

// guestOf notes that something new came of a machine's guest.
func (t *tree) guestOf(ref types.ManagedObjectReference) {
	t.guests[ref] = true
	if t.objects[ref].static().pending() {
		t.pending[ref] = true
	}
}
