package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/config"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// The reasons of Events.
const (
	reasonDrift      = "TopologyDrift"
	reasonConflict   = "TopologyConflict"
	reasonBackfilled = "TopologyBackfilled"
	reasonUpdated    = "TopologyUpdated"

	// unplaced stands for the reasons of a Node that cannot be placed.
	unplaced = "unplaced"
)

// EventReasons returns the reasons of the controller's own Events.
func EventReasons() []string {
	return []string{reasonDrift, reasonConflict, reasonBackfilled, reasonUpdated}
}

// patience is how long a Node has to be without a placement before that is told:
// after a move the tags of its new host are read first.
const patience = 10 * time.Second

// say records a Warning once for each change of its text.
func (c *Controller) say(ctx context.Context, n *v1.Node, k *known, key, reason, text string) {
	if k.said[key] == text {
		return
	}
	k.said[key] = text
	c.recorder.Event(n, v1.EventTypeWarning, reason, text)
	klog.FromContext(ctx).Info("Topology of Node", "node", n.Name, "reason", reason, "text", text)
}

// tellUnplaced returns when there is more to tell, zero if never.
func (c *Controller) tellUnplaced(ctx context.Context, n *v1.Node, k *known, err error) time.Time {
	text := err.Error()
	if k.unplaced != text {
		k.unplaced, k.unplacedSince = text, time.Now()
	}
	if due := k.unplacedSince.Add(patience); due.After(time.Now()) {
		return due
	}
	c.say(ctx, n, k, unplaced, c.source.Reason(err), text)
	return time.Time{}
}

func (c *Controller) tellConflicts(ctx context.Context, n *v1.Node, k *known) {
	if len(k.conflicts) == 0 {
		delete(k.said, reasonConflict)
		return
	}
	texts := make([]string, len(k.conflicts))
	for i, conflict := range k.conflicts {
		texts[i] = conflict.Text()
	}
	c.say(ctx, n, k, reasonConflict, reasonConflict, strings.Join(texts, "; "))
}

// tellDrift tells of the differences that have settled and are not about to be
// written.
func (c *Controller) tellDrift(ctx context.Context, n *v1.Node, k *known, todo *plan) {
	var texts []string
	for _, d := range todo.drifts {
		if d.since.Add(c.policy.Settle).After(time.Now()) || slices.ContainsFunc(todo.changes, func(c change) bool { return c.label == d.label }) {
			continue
		}
		texts = append(texts, d.text())
	}
	if len(texts) == 0 {
		if len(todo.drifts) == 0 {
			delete(k.said, reasonDrift)
		}
		return
	}
	c.say(ctx, n, k, reasonDrift, reasonDrift, strings.Join(texts, "; ")+c.policy.advice())
}

func (d difference) text() string {
	if d.want == "" {
		return fmt.Sprintf("label %s is %q, and nothing gives it that value", d.label, d.have)
	}
	return fmt.Sprintf("label %s is %q, but by %s it is %q", d.label, d.have, d.source, d.want)
}

// advice says what happens to a Node that is not at home.
func (p *policy) advice() string {
	switch p.Drift {
	case config.DriftTaint:
		return "; new Pods are kept away until the Node is back, or its labels are corrected"
	case config.DriftUpdate:
		return "; region and zone are not removed"
	}
	return "; the labels stay as they are: move the machine back, correct them, or set topology.drift in the configuration"
}

// tellWritten tells what was written, once it is.
func (c *Controller) tellWritten(ctx context.Context, n *v1.Node, todo *plan) {
	for _, reason := range []string{reasonBackfilled, reasonUpdated} {
		var texts []string
		for _, ch := range todo.changes {
			if (ch.action == ActionBackfill) == (reason == reasonBackfilled) {
				texts = append(texts, ch.text())
			}
		}
		if len(texts) > 0 {
			text := strings.Join(texts, "; ")
			c.recorder.Event(n, v1.EventTypeNormal, reason, text)
			klog.FromContext(ctx).Info("Wrote topology of Node", "node", n.Name, "changes", text)
		}
	}
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
