package search

import (
	"cmp"
	"slices"
	"time"

	"vzones/vcenter/inventory"
)

// These bound how often a vCenter is searched for the machines of Nodes that are
// not found, and what one round of searches has at most.
const (
	// missMin is the time from one such search to the next, which doubles up to
	// missMax.
	missMin = time.Second
	missMax = 30 * time.Second
	// missPause is the least time between two rounds of them, and missRound what one
	// has at most: 20 searches a second, however many Nodes have no machine.
	missPause = time.Second
	missRound = 20
	// firstRound is how many first searches a round has at most, so that what was
	// found is published while the rest is searched for.
	firstRound = 100
)

// A Key is what a search is for: a UUID, or the name of a Node without one.
type Key struct {
	UUID inventory.UUID
	Name string
}

// A Schedule decides what a vCenter is searched for next. Three kinds of searches are
// in it: the first one for what has just been followed, as soon as possible; those
// for what is not found, again and again with a growing delay; and those for what is
// found, by which a second machine of one UUID is seen. The last are spread evenly
// over the interval, one at a time. It belongs to one goroutine.
type Schedule struct {
	interval time.Duration
	entries  map[Key]*appointment
	// routine is when the next search is due for something that is found, miss that
	// for something that is not.
	routine, miss time.Time
}

// appointment is the schedule of one search.
type appointment struct {
	// last is when the search was done, zero if it never was.
	last time.Time
	// found says that there is such a machine and that it runs, in this vCenter or in
	// another.
	found bool
	// due and delay are for what is not found.
	due   time.Time
	delay time.Duration
}

// NewSchedule returns an empty schedule that searches for everything that is found once in
// the interval.
func NewSchedule(interval time.Duration) *Schedule {
	return &Schedule{interval: interval, entries: map[Key]*appointment{}}
}

// Follow makes the schedule have exactly these searches, and says which of them are
// for a machine that is found.
func (s *Schedule) Follow(found map[Key]bool, now time.Time) {
	for key := range s.entries {
		if _, ok := found[key]; !ok {
			delete(s.entries, key)
		}
	}
	for key, is := range found {
		e := s.entries[key]
		if e == nil {
			e = &appointment{}
			s.entries[key] = e
		}
		if e.found && !is {
			// It may just have moved here from elsewhere, or be in another form.
			e.due, e.delay = now, 0
		}
		e.found = is
	}
}

// Next returns what to search for now; nothing, and when to ask again, if there is
// nothing to do yet. Done says that it is done.
func (s *Schedule) Next(now time.Time) (round []Key, wait time.Duration) {
	var misses []Key
	var oldest Key
	found := 0
	earliest := now.Add(s.interval)
	for key, e := range s.entries {
		switch {
		case e.last.IsZero():
			round = append(round, key)
		case !e.found && e.due.After(now):
			earliest = soonest(earliest, e.due)
		case !e.found:
			misses = append(misses, key)
		default:
			if found++; found == 1 || s.before(key, oldest) {
				oldest = key
			}
		}
	}
	if len(round) > 0 {
		slices.SortFunc(round, inOrder)
		return round[:min(len(round), firstRound)], 0
	}
	if len(misses) > 0 {
		if s.miss.After(now) {
			earliest = soonest(earliest, s.miss)
		} else {
			slices.SortFunc(misses, func(a, b Key) int {
				return cmp.Or(s.entries[a].due.Compare(s.entries[b].due), inOrder(a, b))
			})
			s.miss = now.Add(missPause)
			return misses[:min(len(misses), missRound)], 0
		}
	}
	if found == 0 {
		s.routine = time.Time{}
		return nil, earliest.Sub(now)
	}
	pace := s.interval / time.Duration(found)
	switch {
	case s.routine.IsZero():
		s.routine = now // nothing was found before
	case !s.routine.Add(pace).After(now):
		s.routine = now // what was missed is not caught up with in a burst
		return []Key{oldest}, 0
	}
	return nil, soonest(earliest, s.routine.Add(pace)).Sub(now)
}

// before reports whether the last search for a was before that for b.
func (s *Schedule) before(a, b Key) bool {
	return cmp.Or(s.entries[a].last.Compare(s.entries[b].last), inOrder(a, b)) < 0
}

// Done notes that these were searched for.
func (s *Schedule) Done(round []Key, now time.Time) {
	for _, key := range round {
		e := s.entries[key]
		if e == nil {
			continue // not followed any more
		}
		e.delay = min(max(2*e.delay, missMin), missMax)
		e.last, e.due = now, now.Add(e.delay)
	}
}

func soonest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func inOrder(a, b Key) int {
	return cmp.Or(slices.Compare(a.UUID[:], b.UUID[:]), cmp.Compare(a.Name, b.Name))
}
