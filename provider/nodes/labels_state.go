package nodes

import (
	"errors"
	"slices"
	"time"

	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// namesTime bounds how long names of tags are waited for before those that were read
// since then serve no more.
const namesTime = 10 * time.Minute

// labelState is what is remembered of the labels of an initialized Node.
type labelState struct {
	// waiting reports whether the Node is to be decided about whenever a vCenter has
	// answered, and asked for which change of the fleet it asked the vCenter for that.
	waiting bool
	asked   int
	// namesSince is when names of tags were first asked for to write it, zero if they are not.
	namesSince time.Time

	drifts    []plan.Timed
	resized   []plan.Timed // the instance type, if it differs
	conflicts []topology.Conflict
	// pair is the last one that it had for certain, zero if none.
	pair topology.Pair
	// values are the last ones that it had for certain, of the labels that nest.
	values []topology.Value
	// home is the host on which the machine last was while the labels were those of its
	// place, zero if that is not known; moved reports whether it is on another one now.
	home  topology.Ref
	moved bool
	// unplaced is why the Node has no placement, and since when.
	unplaced      string
	unplacedSince time.Time
	// recorded are the last Events about what holds, by what they are about.
	recorded map[string]recorded
	// unsure is why a label is not certain that the Node can do without, or has.
	unsure unsure
	// reported are the labels of the conflicts that an Event was recorded about, by
	// their texts.
	reported map[string][]string
	// pace is when it may record something.
	pace reservation
}

// recorded is an Event about something that holds, and when it was recorded last.
type recorded struct {
	said
	at time.Time
}

// unsure is why nothing is known of a label, and since when, by the key that it has as long as it
// is the same.
type unsure struct {
	key   string
	since time.Time
	said  said
}

// waitsForNames reports whether the names of tags have to be read before a Node is
// written. What was read since it began to wait for that serves, also if reading takes
// longer than names may be old.
func (k *labelState) waitsForNames(place *placement.Place) bool {
	switch {
	case !place.OldNames:
		k.namesSince = time.Time{}
		return false
	case k.namesSince.IsZero() || time.Since(k.namesSince) > namesTime:
		k.namesSince = time.Now()
	}
	return place.TagNamesReadAt.Before(k.namesSince)
}

// noteCertain notes where a Node is for certain. What cannot be said now is as it was.
func (k *labelState) noteCertain(nesting []string, placed topology.Placement, err error) {
	if pair, ok := placed.Pair(); ok || isCertain(placed, err) {
		k.pair = pair
	}
	before := k.values
	k.values = make([]topology.Value, 0, len(nesting))
	for _, label := range nesting {
		value := topology.Value{Label: label, Value: placed.Value(label)}
		if value.Value == "" && isUnknown(label, placed, err) {
			if i := slices.IndexFunc(before, func(v topology.Value) bool { return v.Label == label }); i >= 0 {
				value = before[i]
			}
		}
		if value.Value != "" {
			k.values = append(k.values, value)
		}
	}
}

// noteHost notes the host of a Node's machine, and whether the labels are those of its place.
func (k *labelState) noteHost(m *inventory.Machine, agrees bool) {
	if m == nil {
		return
	}
	host := m.Host()
	if agrees {
		k.home = host
	}
	k.moved = k.home != topology.Ref{} && k.home != host
}

// isUnknown reports whether something could not be read that a label rests on.
func isUnknown(label string, placed topology.Placement, err error) bool {
	return errors.Is(err, topology.ErrUnknown) || errors.Is(placed.WhyUndecided(label), topology.ErrUnknown)
}

// isCertain reports whether everything was read that a pair of region and zone rests on.
func isCertain(placed topology.Placement, err error) bool {
	return !errors.Is(err, topology.ErrUnknown) && !slices.ContainsFunc(placed.Undecided, func(u topology.Undecided) bool {
		return !plan.IsLevel(u.Label) && errors.Is(u.Err, topology.ErrUnknown)
	})
}
