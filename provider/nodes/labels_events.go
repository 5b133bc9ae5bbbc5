package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/provider/condition"
	"vzones/provider/events"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/topology/quote"
)

// The reasons of Events.
const (
	reasonDrift     = plan.ReasonDrift
	reasonConflict  = "TopologyConflict"
	reasonTypeDrift = plan.ReasonTypeDrift

	// unplaced stands for the reasons of a Node that cannot be placed.
	unplaced = "unplaced"
)

// mostLabels is how many labels one Event names. The annotation that lists those to be
// removed is the kubelet's to write.
const mostLabels = 10

// unplacedBeforeEvent is how long a Node has to be without a placement before an Event says so:
// after a move the tags of its new host are read first.
const unplacedBeforeEvent = 10 * time.Second

// unknownBeforeEvent is the same where something cannot be read: nothing waits for it.
const unknownBeforeEvent = 30 * time.Second

// recordLasting records a Warning about something that lasts: once for each change of its text, and
// again when API servers are about to forget it. It returns when it will, if the Node has to
// wait for its turn, and zero otherwise.
func (l *labeler) recordLasting(ctx context.Context, n *v1.Node, k *labelState, key string, of said) time.Time {
	last := k.recorded[key]
	again := last.text == of.text
	if again && time.Since(last.at) < events.RepeatAfter(string(n.UID)) {
		return time.Time{}
	}
	if wait := k.pace.wait(l.eventPace); wait > 0 {
		return time.Now().Add(wait)
	}
	k.pace.done()
	k.recorded[key] = recorded{of, time.Now()}
	l.events.Event(n, v1.EventTypeWarning, of.reason, of.text)
	if !again {
		klog.FromContext(ctx).Info("The topology of the Node needs attention", "node", klog.KObj(n), "reason", of.reason, "text", quote.Line(of.text))
	}
	return time.Time{}
}

// recordOver records that what a Warning said is over, if there was one. It returns when it will,
// if the Node has to wait for its turn, and zero otherwise.
func (l *labeler) recordOver(ctx context.Context, n *v1.Node, k *labelState, place *placement.Place, key string) time.Time {
	last, ok := k.recorded[key]
	if !ok {
		return time.Time{}
	}
	if wait := k.pace.wait(l.eventPace); wait > 0 {
		return time.Now().Add(wait)
	}
	k.pace.done()
	delete(k.recorded, key)
	text := overText(vcenterAt(place), last.reason)
	l.events.Event(n, v1.EventTypeNormal, condition.ReasonResolved, text)
	klog.FromContext(ctx).V(2).Info("A problem of the Node is over", "node", klog.KObj(n), "text", quote.Line(text))
	return time.Time{}
}

// recordUnplaced records why a Node has no placement, or does so later. Without an
// error it has one.
func (l *labeler) recordUnplaced(ctx context.Context, n *v1.Node, k *labelState, place *placement.Place, err error) time.Time {
	if err == nil {
		k.unplaced = ""
		return l.recordOver(ctx, n, k, place, unplaced)
	}
	text := condition.Message(err)
	if k.unplaced != text {
		k.unplaced, k.unplacedSince = text, time.Now()
	}
	wait := unplacedBeforeEvent
	if errors.Is(err, topology.ErrUnknown) {
		wait = unknownBeforeEvent
	}
	if due := k.unplacedSince.Add(wait); due.After(time.Now()) {
		return due
	}
	return l.recordLasting(ctx, n, k, unplaced, said{condition.Of(err).Event, text, err})
}

// recordConflicts records each conflict while it lasts. It is over when it is
// not found although everything was read that its labels rest on; the end of the last one is recorded. Of objects that may
// not be read, and of what the CSI driver does not see, Events on the daemon's Pod say so: they
// concern many Nodes.
func (l *labeler) recordConflicts(ctx context.Context, n *v1.Node, k *labelState, place *placement.Place, err error) time.Time {
	var due time.Time
	now := map[string]bool{}
	for _, conflict := range k.conflicts {
		if conflict.Kind == topology.ConflictUnread || conflict.Kind == topology.ConflictNotCSI {
			continue
		}
		text := conflict.Text()
		now[text] = true
		if d := l.recordLasting(ctx, n, k, reasonConflict+text, said{reason: reasonConflict, text: text}); !d.IsZero() {
			due = d
		}
		k.reported[text] = conflict.Labels
	}
	if errors.Is(err, topology.ErrUnknown) {
		return due
	}
	for _, text := range slices.Sorted(maps.Keys(k.reported)) {
		if now[text] || slices.ContainsFunc(k.reported[text], func(label string) bool { return errors.Is(place.Placement.WhyUndecided(label), topology.ErrUnknown) }) {
			continue
		}
		if len(k.reported) == 1 {
			if d := l.recordOver(ctx, n, k, place, reasonConflict+text); !d.IsZero() {
				return d
			}
		}
		delete(k.reported, text) // another one may be the same in other words
		delete(k.recorded, reasonConflict+text)
	}
	return due
}

// recordDrift records the differences that have settled and are not about to be
// written. Where a label of the Node may be wrong nothing is over yet.
func (l *labeler) recordDrift(ctx context.Context, n *v1.Node, k *labelState, by *plan.Policy, place *placement.Place, todo *plan.Plan, uncertain error) time.Time {
	var texts []string
	var advice string
	for _, d := range todo.Drifts {
		if d.Since.Add(by.Settle).After(time.Now()) || slices.ContainsFunc(todo.Changes, func(c plan.Change) bool { return c.Label == d.Label }) {
			continue
		}
		texts = append(texts, d.Text())
		if d.IsCertain() {
			advice = by.Advice(k.home.left(place, todo.Drifts))
		} else if advice == "" {
			advice = fmt.Sprintf("it is left as it is: %v", d.Uncertain)
		}
	}
	if len(texts) == 0 {
		if len(todo.Drifts) == 0 && uncertain == nil {
			return l.recordOver(ctx, n, k, place, reasonDrift)
		}
		return time.Time{}
	}
	for _, d := range todo.Held {
		texts = append(texts, d.Text())
	}
	return l.recordLasting(ctx, n, k, reasonDrift, said{reason: reasonDrift, text: quote.NoteWith(quote.Reasons(texts, mostLabels), advice)})
}

// recordWritten records what was written, once it is.
func (l *labeler) recordWritten(ctx context.Context, n *v1.Node, todo *plan.Plan) {
	for _, reason := range []string{plan.ReasonBackfilled, plan.ReasonUpdated, plan.ReasonTypeUpdated} {
		var texts []string
		for _, ch := range todo.Changes {
			if ch.Reason() == reason {
				texts = append(texts, ch.Text())
			}
		}
		if len(texts) > 0 {
			text := quote.Reasons(texts, mostLabels)
			l.events.Event(n, v1.EventTypeNormal, reason, text)
			klog.FromContext(ctx).Info("Wrote topology of Node", "node", klog.KObj(n), "reason", reason, "changes", quote.Line(text))
		}
	}
}

// recordType records an instance type that has differed for long enough and is not
// about to be written. It returns when it will, zero if nothing is to be recorded.
func (l *labeler) recordType(ctx context.Context, n *v1.Node, k *labelState, by *plan.Policy, place *placement.Place, todo *plan.Plan) time.Time {
	if len(todo.Resized) == 0 {
		if place.InstanceType != "" { // or nothing is known to be right again
			return l.recordOver(ctx, n, k, place, reasonTypeDrift)
		}
		return time.Time{}
	}
	d := todo.Resized[0]
	if by.Drift == config.DriftUpdate || d.Since.Add(by.Settle).After(time.Now()) {
		return time.Time{}
	}
	const advice = "it stays as it is: correct it, or set topology.drift to update in the configuration"
	return l.recordLasting(ctx, n, k, reasonTypeDrift, said{reason: reasonTypeDrift, text: quote.NoteWith(d.Text(), advice)})
}
