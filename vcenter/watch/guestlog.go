package watch

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"vzones/topology/quote"
	"vzones/vcenter/watch/model"
)

// guestLogPause is for how long a problem is not logged again that has ended and come back:
// a guest can change what it reports all the time.
const guestLogPause = 10 * time.Minute

// A guestLog has what was logged of guests: each problem of a machine once, as long as it
// lasts.
type guestLog map[guestProblem]logged

type guestProblem struct {
	machine string
	problem model.Problem
}

type logged struct {
	lasts bool
	// until is when it may be logged again, if it does not last any more.
	until time.Time
}

// due reports whether a problem is to be logged: it is there, and was not logged before.
func (l guestLog) due(key guestProblem, lasts bool, now time.Time) bool {
	before, known := l[key]
	if !lasts {
		if known && before.lasts {
			l[key] = logged{until: now.Add(guestLogPause)}
		}
		return false
	}
	again := known && (before.lasts || now.Before(before.until))
	if !known {
		for k, old := range l {
			if !old.lasts && now.After(old.until) {
				delete(l, k)
			}
		}
	}
	l[key] = logged{lasts: true}
	return !again
}

// guestLines are what is logged, in order.
var guestLines = []struct {
	of   model.Problem
	what string
}{
	{of: model.OfMetadata, what: "The addresses in the machine's guestinfo.metadata do not count"},
	{of: model.OfReport, what: "The addresses that the machine's guest reports do not count"},
	{of: model.OfHostName, what: "The host name that the machine's guest reports does not count"},
}

// write logs what of guests does not count, of machines of which something new has come or
// that are gone, without anything that they report.
func (l guestLog) write(ctx context.Context, tree *model.Tree) {
	log := klog.FromContext(ctx).V(2)
	for ref, problems := range tree.ChangedGuests() {
		for _, line := range guestLines {
			if err := problems[line.of]; l.due(guestProblem{ref.Value, line.of}, err != nil, time.Now()) {
				log.Info(line.what, "moid", ref.Value, "err", quote.Line(err.Error()))
			}
		}
	}
}
