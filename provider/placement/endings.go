package placement

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// assumedFor is how long an address or a machine that a Node was given is its own at most
// while the Node does not show it.
const assumedFor = time.Minute

// A grant is to which Node something was given, and when.
type grant struct {
	node types.UID
	name string
	at   time.Time
}

// A moment orders the ends of what Nodes were given.
type moment uint64

// endings are what Nodes were given and show by now. Whoever read the Nodes before they
// showed it, and is about to be given the same, has to read them again.
type endings[K comparable] struct {
	last   moment
	of     map[K]ending
	purged time.Time
}

type ending struct {
	grant
	at moment
	on time.Time
}

// note notes that a Node shows what it was given.
func (e *endings[K]) note(what K, to grant) {
	if e.of == nil {
		e.of = map[K]ending{}
	}
	e.last++
	e.of[what] = ending{grant: to, at: e.last, on: time.Now()}
}

// since returns to whom something was given that has been shown since a moment.
func (e *endings[K]) since(what K, at moment) (grant, bool) {
	end, ok := e.of[what]
	return end.grant, ok && end.at > at
}

// purge forgets what ended long ago: nobody decides for that long.
func (e *endings[K]) purge(now time.Time) {
	if now.Sub(e.purged) < assumedFor/4 {
		return
	}
	e.purged = now
	for what, end := range e.of {
		if now.Sub(end.on) >= assumedFor {
			delete(e.of, what)
		}
	}
}
