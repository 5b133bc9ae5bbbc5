package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
	"vzones/topology/quote"
)

// The reasons of Events.
const (
	reasonDrift      = "TopologyDrift"
	reasonConflict   = "TopologyConflict"
	reasonBackfilled = "TopologyBackfilled"
	reasonUpdated    = "TopologyUpdated"

	reasonTypeDrift   = "InstanceTypeDrift"
	reasonTypeUpdated = "InstanceTypeUpdated"

	// unplaced stands for the reasons of a Node that cannot be placed.
	unplaced = "unplaced"
)

// EventReasons returns the reasons of the controller's own Events.
func EventReasons() []string {
	return []string{reasonDrift, reasonConflict, reasonBackfilled, reasonUpdated, reasonTypeDrift, reasonTypeUpdated}
}

// mostTold is how many labels one Event tells of. The annotation that lists those to be
// removed is the kubelet's to write.
const mostTold = 10

// patience is how long a Node has to be without a placement before that is told:
// after a move the tags of its new host are read first.
const patience = 10 * time.Second

// patienceUnknown is the same where something cannot be read: nothing waits for it.
const patienceUnknown = 30 * time.Second

// say records a Warning once for each change of its text. It returns when it will,
// if the Node has to wait for its turn, and zero otherwise.
func (c *Controller) say(ctx context.Context, n *v1.Node, k *known, key, reason, text string) time.Time {
	if k.said[key] == text {
		return time.Time{}
	}
	if turn := c.turn(k); !turn.IsZero() {
		return turn
	}
	k.said[key] = text
	c.recorder.Event(n, v1.EventTypeWarning, reason, text)
	klog.FromContext(ctx).Info("The topology of the Node needs attention", "node", klog.KObj(n), "reason", reason, "text", quote.Line(text))
	return time.Time{}
}

// turn returns when the Node may tell something, zero if it may now. A recorder
// that gets thousands of Events at once drops most.
func (c *Controller) turn(k *known) time.Time {
	now := time.Now()
	if k.turn.IsZero() {
		k.turn = now
		if c.free.After(now) {
			k.turn = c.free
		}
		c.free = k.turn.Add(time.Second / eventsPerSecond)
	}
	if k.turn.After(now) {
		return k.turn
	}
	k.turn = time.Time{}
	return k.turn
}

// tellUnplaced tells why a Node has no placement, or does so later. Without an
// error it has one.
func (c *Controller) tellUnplaced(ctx context.Context, n *v1.Node, k *known, err error) time.Time {
	if err == nil {
		k.unplaced = ""
		delete(k.said, unplaced)
		return time.Time{}
	}
	text := err.Error()
	if k.unplaced != text {
		k.unplaced, k.unplacedSince = text, time.Now()
	}
	wait := patience
	if errors.Is(err, topology.ErrUnknown) {
		wait = patienceUnknown
	}
	if due := k.unplacedSince.Add(wait); due.After(time.Now()) {
		return due
	}
	return c.say(ctx, n, k, unplaced, c.source.Reason(err), text)
}

// tellConflicts tells of each conflict once while it lasts. It is over when it is
// not found although everything was read that its labels rest on. Of objects that may
// not be read, and of what the CSI driver does not see, the daemon's Pod tells: they
// concern many Nodes.
func (c *Controller) tellConflicts(ctx context.Context, n *v1.Node, k *known, placed topology.Placement, err error) time.Time {
	var due time.Time
	now := map[string]bool{}
	for _, conflict := range k.conflicts {
		if conflict.Kind == topology.ConflictUnread || conflict.Kind == topology.ConflictNotCSI {
			continue
		}
		text := conflict.Text()
		now[text] = true
		if d := c.say(ctx, n, k, reasonConflict+text, reasonConflict, text); !d.IsZero() {
			due = d
		}
		k.told[text] = conflict.Labels
	}
	if errors.Is(err, topology.ErrUnknown) {
		return due
	}
	for text, labels := range k.told {
		if !now[text] && !slices.ContainsFunc(labels, func(l string) bool { return errors.Is(placed.WhyUndecided(l), topology.ErrUnknown) }) {
			delete(k.told, text)
			delete(k.said, reasonConflict+text)
		}
	}
	return due
}

// tellDrift tells of the differences that have settled and are not about to be
// written. Where a label of the Node may be wrong nothing is over yet.
func (c *Controller) tellDrift(ctx context.Context, n *v1.Node, k *known, by *policy, todo *plan, doubt error) time.Time {
	var texts []string
	var advice, doubted string
	for _, d := range todo.drifts {
		if d.since.Add(by.Settle).After(time.Now()) || slices.ContainsFunc(todo.changes, func(c change) bool { return c.label == d.label }) {
			continue
		}
		texts = append(texts, d.text())
		if d.isCertain() {
			advice = by.advice()
		} else {
			doubted = fmt.Sprintf("; what is not certain is left as it is: %v", d.doubt)
		}
	}
	if len(texts) == 0 {
		if len(todo.drifts) == 0 && doubt == nil {
			delete(k.said, reasonDrift)
		}
		return time.Time{}
	}
	for _, d := range todo.held {
		texts = append(texts, d.text())
	}
	return c.say(ctx, n, k, reasonDrift, reasonDrift, quote.Reasons(texts, mostTold)+doubted+advice)
}

func (d difference) text() string {
	switch {
	case d.missing:
		return fmt.Sprintf("label %s is missing, and %q is not written beside a region or zone that is not right", d.label, d.want)
	case d.want == "":
		return fmt.Sprintf("label %s is %q, and nothing gives it that value", d.label, d.have)
	case d.doubt != nil:
		return fmt.Sprintf("label %s is %q, and by %s it is %q, which is not certain", d.label, d.have, d.source, d.want)
	}
	return fmt.Sprintf("label %s is %q, but by %s it is %q", d.label, d.have, d.source, d.want)
}

// advice says what happens to a Node that is not at home.
func (p *policy) advice() string {
	switch p.Drift {
	case config.DriftTaint:
		return "; new Pods are kept away until the Node is back, or its labels are corrected"
	case config.DriftUpdate:
		return "; Kubernetes' own labels are not removed"
	}
	return "; the labels stay as they are: move the machine back, correct them, or set topology.drift in the configuration"
}

// tellWritten tells what was written, once it is.
func (c *Controller) tellWritten(ctx context.Context, n *v1.Node, todo *plan) {
	for _, reason := range []string{reasonBackfilled, reasonUpdated, reasonTypeUpdated} {
		var texts []string
		for _, ch := range todo.changes {
			if ch.reason() == reason {
				texts = append(texts, ch.text())
			}
		}
		if len(texts) > 0 {
			text := quote.Reasons(texts, mostTold)
			c.recorder.Event(n, v1.EventTypeNormal, reason, text)
			klog.FromContext(ctx).Info("Wrote topology of Node", "node", klog.KObj(n), "reason", reason, "changes", quote.Line(text))
		}
	}
}

// reason is that of the Event that tells of a change.
func (ch change) reason() string {
	switch {
	case ch.label == labelType:
		return reasonTypeUpdated
	case ch.action == ActionBackfill:
		return reasonBackfilled
	}
	return reasonUpdated
}

func (ch change) text() string {
	switch {
	case ch.action == ActionBackfill:
		return fmt.Sprintf("label %s=%s was missing, by %s", ch.label, ch.want, ch.source)
	case ch.action == ActionUpdate:
		return fmt.Sprintf("label %s was %q and is %q, by %s", ch.label, ch.have, ch.want, ch.source)
	case ch.source == levelGone:
		return fmt.Sprintf("label %s=%s, which vzones had written, is removed: the configuration has no such level", ch.label, ch.have)
	}
	return fmt.Sprintf("label %s=%s, which vzones had written, is removed: nothing gives it a value", ch.label, ch.have)
}
