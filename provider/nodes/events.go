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

// events emits the Events about Nodes. A returned duration is the delay until the next call, 0 for never.
type events struct {
	recorder report.Recorder
	limiter  *limiter
	checker  *placement.Checker
}

func (r *nodeRecord) tracker(about string) *report.Tracker {
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

func (e *events) emitVerdicts(ctx context.Context, n *v1.Node, r *nodeRecord, verdicts ...verdict) (next time.Duration) {
	for i := range verdicts {
		v := &verdicts[i]
		switch v.state {
		case unknown:
		case wrong:
			next = sooner(next, e.emitProblem(ctx, n, r, v))
		case resolved:
			e.emitEnd(ctx, n, r, v.about)
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

func (e *events) emitProblem(ctx context.Context, n *v1.Node, r *nodeRecord, v *verdict) time.Duration {
	t := r.tracker(v.about)
	now := time.Now()
	if due := t.Observe(v.problem, v.eventDelay, report.RepeatInterval(string(n.UID)), now); due.After(now) {
		return due.Sub(now)
	}
	if v.problem.Silent {
		t.Recorded(v.problem, now)
		return 0
	}
	p := v.problem
	if v.absent != nil {
		outsideErr := e.checker.Outside(n, *v.absent)
		if errors.Is(outsideErr, placement.ErrConfirming) {
			// The end of the search requeues the Node.
			return 0
		}
		if outsideErr != nil {
			p = report.ProblemOf(outsideErr)
			p.Key = v.problem.Key
			p.Cause = ""
			t.Observe(p, v.eventDelay, report.RepeatInterval(string(n.UID)), now)
		}
	}
	if !e.mayEmit(n, r) {
		return 0
	}
	_, isRepeated := t.LastRecorded()
	t.Recorded(p, now)
	e.recorder.Event(n, v1.EventTypeWarning, p.Reason, p.Text)
	if !isRepeated {
		r.log(ctx).Info("Node needs attention", "node", klog.KObj(n), "reason", p.Reason, "text", quote.Line(cmp.Or(p.Detail, p.Text)))
	}
	return 0
}

// mayEmit reports whether the limiter allows an Event. If not, the Node is requeued once it does.
func (e *events) mayEmit(n *v1.Node, r *nodeRecord) bool {
	r.isEventPending = !e.limiter.acquire(n, r)
	return !r.isEventPending
}

// emitEnd returns false if the Event about the end of a problem has no slot yet.
func (e *events) emitEnd(ctx context.Context, n *v1.Node, r *nodeRecord, about string) (isDone bool) {
	t := r.problems[about]
	if t == nil {
		return true
	}
	last, _ := t.LastRecorded()
	if t.End() && !last.Silent {
		if !e.mayEmit(n, r) {
			return false
		}
		text := last.Reason + " is resolved"
		if vcenter := r.decision.VCenter; vcenter != "" {
			text = fmt.Sprintf("vCenter %q: %s", vcenter, text)
		}
		e.recorder.Event(n, v1.EventTypeNormal, report.ReasonResolved, text)
		klog.FromContext(ctx).V(2).Info("A problem of the Node is resolved", "node", klog.KObj(n), "text", quote.Line(text))
	}
	delete(r.problems, about)
	return true
}

func (r *nodeRecord) log(ctx context.Context) klog.Logger {
	log := klog.FromContext(ctx)
	if r.decision == nil || r.decision.VCenter == "" {
		return log
	}
	return log.WithValues("vCenter", quote.Plain(r.decision.VCenter))
}

func (r *nodeRecord) hasProblem(about string) bool {
	t := r.problems[about]
	return t != nil && !t.Since().IsZero()
}

// reportedReadiness is zero until the problem has lasted long enough for an Event.
func (r *nodeRecord) reportedReadiness(about string) readiness {
	if t := r.problems[about]; t != nil {
		if last, current := t.LastRecorded(); current {
			return readinessOfProblem(last)
		}
	}
	return readiness{}
}

const reasonConflict = "TopologyConflict"

// emitConflicts emits an Event about each conflict, and one once all have ended. A conflict has ended only if
// the values of its labels are known. Unreadable objects are reported on the daemon's Pod, because they concern
// many Nodes.
func (e *events) emitConflicts(ctx context.Context, n *v1.Node, r *nodeRecord) (next time.Duration) {
	if r.labels.reported == nil {
		r.labels.reported = map[string][]string{}
	}
	current := map[string]bool{}
	reported := r.labels.reported
	for _, conflict := range r.stats.conflicts {
		if conflict.Kind == topology.ConflictUnread || conflict.Kind == topology.ConflictNotCSI || isAboutCategory(conflict) || isPlaceErr(conflict, r.decision.PlaceErr) {
			continue
		}
		key := conflict.Key()
		current[key] = true
		next = sooner(next, e.emitProblem(ctx, n, r, &verdict{about: aboutConflict + key, problem: report.Problem{Key: key, Reason: reasonConflict, Text: conflict.Text()}}))
		reported[key] = conflict.Labels
	}
	if errors.Is(r.decision.PlaceErr, topology.ErrUnknown) {
		return next
	}
	for _, key := range slices.Sorted(maps.Keys(reported)) {
		if current[key] || slices.ContainsFunc(reported[key], func(label string) bool { return isUnknown(r.decision, label) }) {
			continue
		}
		if len(reported) == 1 && !e.emitEnd(ctx, n, r, aboutConflict+key) {
			return next
		}
		delete(reported, key)
		delete(r.problems, aboutConflict+key)
	}
	return next
}

func (e *events) emitWritten(log klog.Logger, n *v1.Node, todo *plan.Plan) {
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

// addressGracePeriod is the time after the initialization in which new addresses cause no Event, because the framework
// writes addresses after it has removed the taint.
const addressGracePeriod = time.Minute

func addressChanges(old, current []v1.NodeAddress) string {
	list := func(addrs []v1.NodeAddress, kind v1.NodeAddressType) string {
		var texts []string
		for _, a := range addrs {
			if a.Type == kind {
				texts = append(texts, a.Address)
			}
		}
		return cmp.Or(strings.Join(texts, " and "), "none")
	}
	var changes []string
	for _, kind := range []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP, v1.NodeHostName} {
		if oldList, currentList := list(old, kind), list(current, kind); oldList != currentList {
			changes = append(changes, fmt.Sprintf("%s from %s to %s", kind, oldList, currentList))
		}
	}
	return strings.Join(changes, ", ")
}

func (e *events) emitAddressChange(n *v1.Node, r *nodeRecord, isNew bool) {
	old := r.lastAddresses
	current := n.Status.Addresses
	if change := addressChanges(old, current); old != nil && change != "" && !isFirstAssignment(old, current, isNew) {
		if !e.mayEmit(n, r) {
			return
		}
		e.recorder.Event(n, v1.EventTypeNormal, reasonReaddressed, "The addresses of the Node have changed: "+change+"; vzones explain "+n.Name+" shows why each was chosen")
	}
	r.lastAddresses = append([]v1.NodeAddress{}, current...)
}

func isFirstAssignment(old, current []v1.NodeAddress, isNew bool) bool {
	isIP := func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP }
	if !slices.ContainsFunc(old, isIP) {
		return true
	}
	return isNew && !slices.ContainsFunc(old, func(a v1.NodeAddress) bool { return isIP(a) && !slices.Contains(current, a) })
}

// InitializedEventReasons returns the reasons of Events about initialized Nodes.
func InitializedEventReasons() []string {
	return []string{reasonReaddressed, report.ReasonAddressOmitted, reasonOutOfService, reasonInService, reasonPartitioned, plan.ReasonDrift, reasonConflict, plan.ReasonBackfilled, plan.ReasonUpdated, plan.ReasonTypeDrift, plan.ReasonTypeUpdated, report.ReasonResolved}
}
