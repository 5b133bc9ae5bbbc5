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

	"vzones/internal/quote"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
)

// eventsPerSecond limits all Events. The recorder drops Events that the API server does not accept fast enough.
const eventsPerSecond = 20

// events records the Events about Nodes. Its methods return the time after which to call them again, 0 for never.
type events struct {
	recorder report.Recorder
	limiter  *limiter
	checker  *placement.Checker
}

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

// tell records the Events that follow from the verdicts about a Node.
func (e *events) tell(ctx context.Context, n *v1.Node, r *record, all ...verdict) (next time.Duration) {
	for i := range all {
		v := &all[i]
		switch v.state {
		case unknown:
		case wrong:
			next = sooner(next, e.problem(ctx, n, r, v))
		case over:
			e.over(ctx, n, r, v.about)
		case dropped:
			delete(r.problems, v.about)
		case interrupted:
			if t := r.problems[v.about]; t != nil {
				t.End()
			}
		}
	}
	return next
}

// problem records an Event about a problem that has lasted long enough.
func (e *events) problem(ctx context.Context, n *v1.Node, r *record, v *verdict) time.Duration {
	t := r.tracker(v.about)
	now := time.Now()
	if due := t.Observe(v.problem, v.after, report.RepeatAfter(string(n.UID)), now); due.After(now) {
		return due.Sub(now)
	}
	if v.isSilent {
		t.Recorded(v.problem, now)
		return 0
	}
	p := v.problem
	if v.absent != nil {
		there := e.checker.Outside(n, *v.absent)
		if errors.Is(there, placement.ErrConfirming) {
			// The end of the search requeues the Node.
			return 0
		}
		if there != nil {
			p = report.ProblemOf(there)
			p.Key = v.problem.Key
			p.Cause = ""
			t.Observe(p, v.after, report.RepeatAfter(string(n.UID)), now)
		}
	}
	if !e.mayRecord(n, r) {
		return 0
	}
	_, again := t.LastRecorded()
	t.Recorded(p, now)
	e.recorder.Event(n, v1.EventTypeWarning, p.Reason, p.Text)
	if !again {
		r.log(ctx).Info("Node needs attention", "node", klog.KObj(n), "reason", p.Reason, "text", quote.Line(cmp.Or(p.Detail, p.Text)))
	}
	return 0
}

// mayRecord reports whether the limiter allows an Event now. Otherwise the Node is requeued once it does.
func (e *events) mayRecord(n *v1.Node, r *record) bool {
	r.eventWaits = !e.limiter.acquire(n, r)
	return !r.eventWaits
}

// over records the end of a problem that had an Event. It returns false if that Event has no slot yet.
func (e *events) over(ctx context.Context, n *v1.Node, r *record, about string) (isDone bool) {
	t := r.problems[about]
	if t == nil {
		return true
	}
	if t.End() {
		if !e.mayRecord(n, r) {
			return false
		}
		was, _ := t.LastRecorded()
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

func (r *record) log(ctx context.Context) klog.Logger {
	log := klog.FromContext(ctx)
	if in := r.decision.VCenter; in != "" {
		log = log.WithValues("vCenter", quote.Plain(in))
	}
	return log
}

func (r *record) has(about string) bool {
	t := r.problems[about]
	return t != nil && !t.Since().IsZero()
}

// readiness returns the condition for a problem, zero until the problem has an Event.
func (r *record) readiness(about string) readiness {
	if t := r.problems[about]; t != nil {
		if said, current := t.LastRecorded(); current {
			return readinessBy(said)
		}
	}
	return readiness{}
}

const reasonConflict = "TopologyConflict"

// conflicts records each conflict while it lasts. It is over if it is not found although everything behind its labels was
// read; only the end of the last conflict has an Event. Unreadable objects are reported on the daemon's Pod, because they
// concern many Nodes. Labels that the CSI driver cannot see are only counted.
func (e *events) conflicts(ctx context.Context, n *v1.Node, r *record) (next time.Duration) {
	if r.labels.reported == nil {
		r.labels.reported = map[string][]string{}
	}
	now := map[string]bool{}
	reported := r.labels.reported
	for _, conflict := range r.counted.conflicts {
		if conflict.Kind == topology.ConflictUnread || conflict.Kind == topology.ConflictNotCSI {
			continue
		}
		key := conflict.Key()
		now[key] = true
		next = sooner(next, e.problem(ctx, n, r, &verdict{about: aboutConflict + key, problem: report.Problem{Key: key, Reason: reasonConflict, Text: conflict.Text()}}))
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
		delete(reported, key)
		delete(r.problems, aboutConflict+key)
	}
	return next
}

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

const reasonReaddressed = "AddressesChanged"

// firstAddresses is the time in which a new Node gets addresses without an Event, because the framework writes them after
// it has removed the taint.
const firstAddresses = time.Minute

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

// addressChange records an Event if the addresses of an initialized Node have changed, no matter how.
func (e *events) addressChange(n *v1.Node, r *record, isNew bool) {
	was := r.addresses
	is := n.Status.Addresses
	if change := addressChanges(was, is); was != nil && change != "" && !getsFirst(was, is, isNew) {
		if !e.mayRecord(n, r) {
			return
		}
		e.recorder.Event(n, v1.EventTypeNormal, reasonReaddressed, "The addresses of the Node have changed: "+change+"; vzones explain "+n.Name+" says why each was chosen")
	}
	r.addresses = append([]v1.NodeAddress{}, is...)
}

// getsFirst reports whether a Node gets its first IPs or, if it is new, only additional ones.
func getsFirst(was, is []v1.NodeAddress, isNew bool) bool {
	isIP := func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP }
	if !slices.ContainsFunc(was, isIP) {
		return true
	}
	return isNew && !slices.ContainsFunc(was, func(a v1.NodeAddress) bool { return isIP(a) && !slices.Contains(is, a) })
}

// LabelEventReasons returns the reasons of the Events about labels and addresses of initialized Nodes.
func LabelEventReasons() []string {
	return []string{reasonReaddressed, report.ReasonLeftOut, plan.ReasonDrift, reasonConflict, plan.ReasonBackfilled, plan.ReasonUpdated, plan.ReasonTypeDrift, plan.ReasonTypeUpdated, report.ReasonResolved}
}
