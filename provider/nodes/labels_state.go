package nodes

import (
	"errors"
	"slices"
	"time"

	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
)

// namesTime bounds how long names of tags are waited for before those that were read
// since then serve no more.
const namesTime = 10 * time.Minute

// labelState is what is remembered of the labels of an initialized Node.
type labelState struct {
	// vcenter is that of the machine when it was last found, for the log.
	vcenter string
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
	// home is what decided the labels when they were last right.
	home home
	// reported are the labels of the conflicts that an Event was recorded about, by
	// their texts.
	reported map[string][]string
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

// home has the objects that decided the labels of a Node when they were last right, by label. It
// is nil as long as that is not known.
type home map[string]topology.Ref

// note notes what decides about labels that are right.
func (h *home) note(placed topology.Placement) {
	by := func(d topology.Decision) topology.Ref {
		if d.By == nil {
			return topology.Ref{}
		}
		return d.By.Ref
	}
	if len(*h) == len(placed.Decisions) && !slices.ContainsFunc(placed.Decisions, func(d topology.Decision) bool { return (*h)[d.Label] != by(d) }) {
		return
	}
	*h = make(home, len(placed.Decisions))
	for _, d := range placed.Decisions {
		(*h)[d.Label] = by(d)
	}
}

// left reports whether the machine is no longer below an object that decided a label which is
// wrong now: it was moved, and not its place retagged.
func (h home) left(place *placement.Place, drifts []plan.Timed) bool {
	return slices.ContainsFunc(drifts, func(d plan.Timed) bool {
		by, known := h[d.Label]
		return known && by != topology.Ref{} && !slices.ContainsFunc(place.Machine.Paths, func(path topology.Path) bool {
			return slices.ContainsFunc(path.Objects, func(o *topology.Object) bool {
				return o.Ref.Type == by.Type && o.Ref.ID == by.ID && vcenterAt(place) == by.VCenter
			})
		})
	})
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
