package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
)

// The subjects of a Node's problems.
const (
	aboutMachine  = "machine"  // what the Node waits for, or why its machine is not certain
	aboutDeletion = "deletion" // why the Node is not deleted although its machine is not found
	aboutPlace    = "place"    // why a machine has no placement
	aboutLeftOut  = "left out" // addresses that the Node does not get because of --node-ip
	aboutDrift    = "drift"
	aboutType     = "type"
	aboutConflict = "conflict " // and its key
	aboutLabel    = "label"     // a label is not known that the Node can do without, or has: only the condition says so
	aboutOwner    = "owner"     // it is not known whether the Node is ours: likewise
)

const (
	// waitingBeforeEvent is how long a Node waits before an Event says for what. Every
	// Node waits for a moment.
	waitingBeforeEvent = 10 * time.Second
	// runningBeforeEvent is how long a problem of an initialized Node lasts before an Event says so.
	// A short outage of a vCenter needs no Event.
	runningBeforeEvent = 30 * time.Second
	// eventsPerSecond bounds the Events about many Nodes at once, because the recorder drops Events that
	// come faster than the API server takes them.
	eventsPerSecond = 20
)

// events records the Events about Nodes. A duration that a method returns is the time after which the method has to
// be called again, 0 for none.
type events struct {
	recorder report.Recorder
	// pace limits the Events about all Nodes.
	pace    *pace
	checker *placement.Checker
}

// tracker returns the tracker of a problem of a Node.
func (r *record) tracker(about string) *report.Tracker {
	t := r.problems[about]
	if t == nil {
		if r.problems == nil {
			r.problems = map[string]*report.Tracker{}
		}
		t = &report.Tracker{}
		r.problems[about] = t
	}
	return t
}

// problem records an Event about a problem of a Node, once the problem has lasted for the time after.
func (e *events) problem(ctx context.Context, n *v1.Node, r *record, about string, p report.Problem, after time.Duration) time.Duration {
	t, now := r.tracker(about), time.Now()
	if due := t.Observe(p, after, report.RepeatAfter(string(n.UID)), now); due.After(now) {
		return due.Sub(now)
	}
	if !e.isTurn(n, r) {
		return 0
	}
	_, again := t.Said()
	t.Recorded(p, now)
	e.recorder.Event(n, v1.EventTypeWarning, p.Reason, p.Text)
	if !again {
		r.log(ctx).Info("Node needs attention", "node", klog.KObj(n), "reason", p.Reason, "text", quote.Line(cmp.Or(p.Detail, p.Text)))
	}
	return 0
}

// isTurn reports whether an Event about a Node may be recorded now. If not, the Node is decided about again when its turn
// has come.
func (e *events) isTurn(n *v1.Node, r *record) bool {
	r.eventWaits = !e.pace.take(n, r)
	return !r.eventWaits
}

// machineProblem is problem for an error about a Node's machine. Before an Event says that no vCenter has the
// machine, a search looks for it outside of the configured datacenters.
func (e *events) machineProblem(ctx context.Context, n *v1.Node, r *record, err error, after time.Duration) time.Duration {
	p, now := report.ProblemOf(err), time.Now()
	if id, unidentified := nodeinfo.IdentityOf(n); errors.Is(err, topology.ErrAbsent) && unidentified == nil && len(id.UUIDs) > 0 {
		if due := r.tracker(aboutMachine).Observe(p, after, report.RepeatAfter(string(n.UID)), now); due.After(now) {
			return due.Sub(now)
		}
		switch there := e.checker.Outside(n, id); {
		case errors.Is(there, placement.ErrConfirming):
			return 0 // its end enqueues the Node
		case there != nil:
			key := p.Key
			p = report.ProblemOf(there)
			p.Key, p.Cause = key, ""
		}
	}
	return e.problem(ctx, n, r, aboutMachine, p, after)
}

// over records an Event about the end of a problem of a Node, if an Event was about the problem. It reports whether that
// is done, or the Event waits for its turn.
func (e *events) over(ctx context.Context, n *v1.Node, r *record, about string) (isDone bool) {
	t := r.problems[about]
	if t == nil {
		return true
	}
	if t.End() {
		if !e.isTurn(n, r) {
			return false
		}
		was, _ := t.Said()
		text := was.Reason + " is over"
		if in := r.decision.VCenter; in != "" {
			text = fmt.Sprintf("vCenter %q: %s", in, text)
		}
		e.recorder.Event(n, v1.EventTypeNormal, report.ReasonResolved, text)
		klog.FromContext(ctx).V(2).Info("A problem of the Node is over", "node", klog.KObj(n), "text", quote.Line(text))
	}
	delete(r.problems, about)
	return true
}

// log returns a logger whose lines name the vCenter that has a Node's machine.
func (r *record) log(ctx context.Context) klog.Logger {
	log := klog.FromContext(ctx)
	if in := r.decision.VCenter; in != "" {
		log = log.WithValues("vCenter", quote.Plain(in))
	}
	return log
}

// has reports whether something is wrong with a Node.
func (r *record) has(about string) bool {
	t := r.problems[about]
	return t != nil && !t.Since().IsZero()
}

// readiness returns the content of the condition while a Node has a problem: that of the Event, zero until
// there was an Event.
func (r *record) readiness(about string) readiness {
	if t := r.problems[about]; t != nil {
		if said, current := t.Said(); current {
			return readinessBy(said)
		}
	}
	return readiness{}
}

// isNotKnown returns the content of the condition for something that has been unknown for a while and gets no
// Event, and the time after which it has to be called again.
func (r *record) isNotKnown(about string, err error) (readiness, time.Duration) {
	t, p, now := r.tracker(about), report.ProblemOf(err), time.Now()
	if due := t.Observe(p, runningBeforeEvent, time.Hour, now); due.After(now) {
		return r.readiness(about), due.Sub(now)
	}
	t.Recorded(p, now)
	return readinessBy(p), 0
}

// reasonConflict is the reason of the Event about a conflict.
const reasonConflict = "TopologyConflict"

// mostLabels is how many labels one Event names. The annotation that lists those to be
// removed is the kubelet's to write.
const mostLabels = 10

// unplacedBeforeEvent is how long a Node has to be without a placement before an Event says so:
// after a move the tags of its new host are read first.
const unplacedBeforeEvent = 10 * time.Second

// unplaced records why a Node has no placement. Without an error it has one.
func (e *events) unplaced(ctx context.Context, n *v1.Node, r *record, err error) time.Duration {
	if err == nil {
		e.over(ctx, n, r, aboutPlace)
		return 0
	}
	after := unplacedBeforeEvent
	if errors.Is(err, topology.ErrUnknown) {
		after = runningBeforeEvent
	}
	return e.problem(ctx, n, r, aboutPlace, report.ProblemOf(err), after)
}

// conflicts records each conflict while it lasts. A conflict is over when it is not found although everything
// behind its labels was read; only the end of the last conflict is recorded. Conflicts of objects that may not
// be read are recorded on the daemon's Pod, because they concern many Nodes; labels that the CSI driver does not
// see are only counted.
func (e *events) conflicts(ctx context.Context, n *v1.Node, r *record) (next time.Duration) {
	if r.labels.reported == nil {
		r.labels.reported = map[string][]string{}
	}
	now, reported := map[string]bool{}, r.labels.reported
	for _, conflict := range r.counted.conflicts {
		if conflict.Kind == topology.ConflictUnread || conflict.Kind == topology.ConflictNotCSI {
			continue
		}
		key := conflict.Key()
		now[key] = true
		next = sooner(next, e.problem(ctx, n, r, aboutConflict+key, report.Problem{Key: key, Reason: reasonConflict, Text: conflict.Text()}, 0))
		reported[key] = conflict.Labels
	}
	if errors.Is(r.decision.PlaceErr, topology.ErrUnknown) {
		return next
	}
	for _, key := range slices.Sorted(maps.Keys(reported)) {
		if now[key] || slices.ContainsFunc(reported[key], func(label string) bool { return isUnknown(r.decision, label) }) {
			continue
		}
		if len(reported) == 1 && !e.over(ctx, n, r, aboutConflict+key) {
			return next
		}
		delete(reported, key) // another one may be the same in other words
		delete(r.problems, aboutConflict+key)
	}
	return next
}

// drift records the differences that have settled and are not about to be written. As long as a label of the
// Node may be wrong, no end is recorded.
func (e *events) drift(ctx context.Context, n *v1.Node, r *record, by *plan.Policy, todo *plan.Plan) time.Duration {
	var texts []string
	var advice string
	for _, d := range todo.Drifts {
		if d.Since.Add(by.Settle).After(time.Now()) || slices.ContainsFunc(todo.Changes, func(c plan.Change) bool { return c.Label == d.Label }) {
			continue
		}
		texts = append(texts, d.Text())
		if d.IsCertain() {
			advice = by.Advice()
		} else if advice == "" {
			advice = fmt.Sprintf("it is left as it is: %v", d.Uncertain)
		}
	}
	if len(texts) == 0 {
		if _, uncertain := plan.UncertainLabel(n, r.decision.Placement); len(todo.Drifts) == 0 && uncertain == nil {
			e.over(ctx, n, r, aboutDrift)
		}
		return 0
	}
	for _, d := range todo.Held {
		texts = append(texts, d.Text())
	}
	text := quote.NoteWith(quote.Reasons(texts, mostLabels), advice)
	return e.problem(ctx, n, r, aboutDrift, report.Problem{Key: text, Reason: plan.ReasonDrift, Text: text}, 0)
}

// written records the changes of a plan that was written.
func (e *events) written(log klog.Logger, n *v1.Node, todo *plan.Plan) {
	for _, reason := range []string{plan.ReasonBackfilled, plan.ReasonUpdated, plan.ReasonTypeUpdated} {
		var texts []string
		for _, ch := range todo.Changes {
			if ch.Reason() == reason {
				texts = append(texts, ch.Text())
			}
		}
		if len(texts) > 0 {
			text := quote.Reasons(texts, mostLabels)
			e.recorder.Event(n, v1.EventTypeNormal, reason, text)
			log.Info("Wrote topology of Node", "node", klog.KObj(n), "reason", reason, "changes", quote.Line(text))
		}
	}
}

// instanceType records an instance type that has differed for long enough and is not
// about to be written.
func (e *events) instanceType(ctx context.Context, n *v1.Node, r *record, by *plan.Policy, todo *plan.Plan) time.Duration {
	if len(todo.Resized) == 0 {
		if r.decision.InstanceType != "" { // or nothing is known to be right again
			e.over(ctx, n, r, aboutType)
		}
		return 0
	}
	d := todo.Resized[0]
	if by.Drift == config.DriftUpdate || d.Since.Add(by.Settle).After(time.Now()) {
		return 0
	}
	text := quote.NoteWith(d.Text(), "it stays as it is: correct it, or set topology.drift to update in the configuration")
	return e.problem(ctx, n, r, aboutType, report.Problem{Key: text, Reason: plan.ReasonTypeDrift, Text: text}, 0)
}

// reasonReaddressed is the reason of the Event about an initialized Node whose addresses changed.
const reasonReaddressed = "AddressesChanged"

// firstAddresses is the time after its initialization in which a Node gets further addresses without an Event,
// because the framework writes addresses after it has removed the taint.
const firstAddresses = time.Minute

// addressChanges says how the addresses of a Node have changed, empty if they have not.
func addressChanges(before, now []v1.NodeAddress) string {
	list := func(all []v1.NodeAddress, kind v1.NodeAddressType) string {
		var of []string
		for _, a := range all {
			if a.Type == kind {
				of = append(of, a.Address)
			}
		}
		return cmp.Or(strings.Join(of, " and "), "none")
	}
	var changes []string
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP, v1.NodeHostName} {
		if was, is := list(before, kind), list(now, kind); was != is {
			changes = append(changes, fmt.Sprintf("%s was %s and is %s now", kind, was, is))
		}
	}
	return strings.Join(changes, ", ")
}

// addressChange records an Event about changed addresses of an initialized Node, whoever has written them.
func (e *events) addressChange(n *v1.Node, r *record, isNew bool) {
	was, is := r.addresses, n.Status.Addresses
	if change := addressChanges(was, is); was != nil && change != "" && !getsFirst(was, is, isNew) {
		if !e.isTurn(n, r) {
			return
		}
		e.recorder.Event(n, v1.EventTypeNormal, reasonReaddressed, "The addresses of the Node have changed: "+change+"; vzones explain "+n.Name+" says why each was chosen")
	}
	r.addresses = append([]v1.NodeAddress{}, is...)
}

// leftOut records which addresses an initialized Node does not get because of --node-ip.
func (e *events) leftOut(ctx context.Context, n *v1.Node, r *record) time.Duration {
	chosen := &r.decision.Addresses
	switch {
	case chosen.LeftOut != nil:
		text := chosen.LeftOut.Error()
		return e.problem(ctx, n, r, aboutLeftOut, report.Problem{Key: text, Reason: report.ReasonLeftOut, Text: text}, 0)
	case len(chosen.Addresses) > 0:
		e.over(ctx, n, r, aboutLeftOut)
	}
	return 0 // the VM or its addresses are not known
}

// getsFirst reports whether a Node gets addresses for the first time or, if it is new, in addition.
func getsFirst(was, is []v1.NodeAddress, isNew bool) bool {
	isIP := func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP }
	if !slices.ContainsFunc(was, isIP) {
		return true
	}
	return isNew && !slices.ContainsFunc(was, func(a v1.NodeAddress) bool { return isIP(a) && !slices.Contains(is, a) })
}
