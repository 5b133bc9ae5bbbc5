package nodes

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// The subjects of a Node's problems.
const (
	// aboutVM: the Node stays uninitialized or its VM is uncertain.
	aboutVM = "vm"
	// aboutOwner: the Node may not be ours.
	aboutOwner    = "owner"
	aboutDeletion = "deletion"
	aboutPlace    = "place"
	// aboutLeftOut: addresses that --node-ip excludes.
	aboutLeftOut = "left out"
	// aboutAddress: another Node has an address of the VM, or the VM has no address for the Node.
	aboutAddress = "address"
	// aboutPower: the VM of a Node that is not ready is powered off.
	aboutPower = "power"
	aboutDrift = "drift"
	aboutType  = "type"
	// aboutLabel: the value of a label is unknown, but the label is optional or already set.
	aboutLabel    = "label"
	aboutConflict = "conflict "
	// aboutPartition: the Node's zone is partitioned.
	aboutPartition = "partition"
)

const (
	// uninitializedEventDelay and initializedEventDelay are the age of a problem at its first Event.
	uninitializedEventDelay = 10 * time.Second
	initializedEventDelay   = 30 * time.Second
	// unplacedEventDelay is shorter, because after a move of the VM only tags have to be read.
	unplacedEventDelay = 10 * time.Second
	// mostLabels is the maximum number of labels in an Event. A kubelet can list any number of labels in the
	// annotation nodeinfo.KeyLabels.
	mostLabels = 10
)

type verdict struct {
	about string
	state state
	// problem is set in state wrong. Its Event is due after eventDelay.
	problem    report.Problem
	eventDelay time.Duration
	// absent identifies a VM that no vCenter has, or is nil. Before the Event it is searched for outside of the
	// configured datacenters.
	absent *inventory.Identity
}

type state int

const (
	// unknown: the facts cannot be read. A reported problem remains.
	unknown state = iota
	wrong
	// resolved: no problem. An Event reports the end.
	resolved
	// dropped: no problem, and no Event about its end.
	dropped
	// interrupted: no problem for now. The eventDelay of the next problem starts anew.
	interrupted
)

// problemsOf returns the verdicts in the order of their Events. policy and todo may be nil.
func problemsOf(n *v1.Node, d *placement.Decision, policy *plan.Policy, todo *plan.Plan, now time.Time) []verdict {
	verdicts := []verdict{vmOf(n, d), ownerOf(n, d), powerOf(n, d), omittedOf(d), addressOf(d)}
	if todo != nil {
		verdicts = append(verdicts, driftOf(n, d, policy, todo, now), typeOf(d, policy, todo, now), placeOf(n, d, todo), labelOf(d))
	}
	return verdicts
}

func vmProblem(n *v1.Node, d *placement.Decision) error {
	return cmp.Or(d.VMErr, nodeinfo.CheckProviderID(n))
}

func mayBeForeign(n *v1.Node, d *placement.Decision) bool {
	err := vmProblem(n, d)
	isFound := !errors.Is(err, topology.ErrAbsent) && !errors.Is(err, topology.ErrUnknown)
	return n.Spec.ProviderID == "" && !d.WasFound && !isFound && !errors.Is(err, placement.ErrShared)
}

func vmOf(n *v1.Node, d *placement.Decision) verdict {
	err := vmProblem(n, d)
	switch {
	case err == nil:
		return verdict{about: aboutVM, state: resolved}
	case mayBeForeign(n, d):
		return verdict{about: aboutVM, state: dropped}
	default:
		v := withoutVM(n, err, initializedEventDelay)
		v.problem = quietIfPodEvent(n, d, v.problem, err)
		return v
	}
}

// quietIfPodEvent makes the problem of a ready Node silent if the daemon's Pod has an Event about its cause: a vCenter
// that cannot be read, or a category that reportCategories reports.
func quietIfPodEvent(n *v1.Node, d *placement.Decision, p report.Problem, err error) report.Problem {
	isCategoryReported := errors.Is(err, topology.ErrNoCategory) && slices.ContainsFunc(d.Placement.Conflicts, isAboutCategory)
	if nodeinfo.IsReady(n) && (inventory.FirstUnreachable(err) != nil || isCategoryReported) {
		return silent(p)
	}
	return p
}

// silent also changes the key, so that the Event follows if the problem is no longer silent.
func silent(p report.Problem) report.Problem {
	p.Silent = true
	p.Key = "silent " + p.Key
	return p
}

func withoutVM(n *v1.Node, err error, eventDelay time.Duration) verdict {
	v := verdict{about: aboutVM, state: wrong, problem: report.ProblemOf(err), eventDelay: eventDelay}
	id, idErr := nodeinfo.IdentityOf(n)
	if errors.Is(err, topology.ErrAbsent) && idErr == nil && len(id.UUIDs) > 0 {
		v.absent = &id
	}
	return v
}

func ownerOf(n *v1.Node, d *placement.Decision) verdict {
	if mayBeForeign(n, d) && !report.WasNeverManaged(n, d) && report.ConditionOf(n).Status != "" {
		return verdict{about: aboutOwner, state: wrong, problem: silent(report.ProblemOf(d.VMErr)), eventDelay: initializedEventDelay}
	}
	return verdict{about: aboutOwner, state: dropped}
}

func powerOf(n *v1.Node, d *placement.Decision) verdict {
	return ofVM(d, aboutPower, d.CheckPower(n))
}

func addressOf(d *placement.Decision) verdict {
	return ofVM(d, aboutAddress, d.AddressErr)
}

// ofVM returns the verdict about a property of the VM. It is unknown without a VM.
func ofVM(d *placement.Decision, about string, err error) verdict {
	v := verdict{about: about, eventDelay: initializedEventDelay}
	switch {
	case d.VM == nil:
	case err != nil:
		v.state = wrong
		v.problem = report.ProblemOf(err)
	default:
		v.state = resolved
	}
	return v
}

func omittedOf(d *placement.Decision) verdict {
	v := verdict{about: aboutLeftOut}
	switch {
	case d.Addresses.OmittedErr != nil:
		text := d.Addresses.OmittedErr.Error()
		v.state = wrong
		v.problem = report.Problem{Key: text, Reason: report.ReasonAddressOmitted, Text: text}
	case len(d.Addresses.Addresses) > 0:
		v.state = resolved
	}
	return v
}

func driftOf(n *v1.Node, d *placement.Decision, policy *plan.Policy, todo *plan.Plan, now time.Time) verdict {
	v := verdict{about: aboutDrift}
	if d.PlaceErr != nil {
		return v
	}
	var texts []string
	var advice string
	for _, drift := range todo.Drifts {
		isWritten := slices.ContainsFunc(todo.Changes, func(c plan.Change) bool { return c.Label == drift.Label })
		if drift.Since.Add(policy.Settle).After(now) || isWritten {
			continue
		}
		texts = append(texts, drift.Text())
		if drift.IsCertain() {
			advice = policy.Advice()
		} else if advice == "" {
			advice = fmt.Sprintf("it stays unchanged: %v", drift.Uncertain)
		}
	}
	if len(texts) == 0 {
		if _, uncertain := plan.UncertainLabel(n, d.Placement); len(todo.Drifts) == 0 && uncertain == nil {
			v.state = resolved
		}
		return v
	}
	for _, held := range todo.Withheld {
		texts = append(texts, held.Text())
	}
	if slices.ContainsFunc(todo.Drifts, func(d plan.Timed) bool { return d.FromKubelet }) {
		advice = plan.KubeletAdvice + "; " + advice
	}
	text := quote.NoteWith(quote.Reasons(texts, mostLabels), advice)
	v.state = wrong
	v.problem = report.Problem{Key: text, Reason: plan.ReasonDrift, Text: text}
	return v
}

func typeOf(d *placement.Decision, policy *plan.Policy, todo *plan.Plan, now time.Time) verdict {
	v := verdict{about: aboutType}
	if len(todo.Resized) == 0 {
		if d.InstanceType != "" {
			v.state = resolved
		}
		return v
	}
	diff := todo.Resized[0]
	if policy.Drift == config.DriftUpdate || diff.Since.Add(policy.Settle).After(now) {
		return v
	}
	text := quote.NoteWith(diff.Text(), "it stays unchanged: correct it, or set topology.drift to update in the configuration")
	v.state = wrong
	v.problem = report.Problem{Key: text, Reason: plan.ReasonTypeDrift, Text: text}
	return v
}

func placeOf(n *v1.Node, d *placement.Decision, todo *plan.Plan) verdict {
	err := cmp.Or(d.PlaceErr, todo.TaintKept)
	v := verdict{about: aboutPlace, state: wrong, eventDelay: unplacedEventDelay}
	switch {
	case d.VM == nil:
		v.state = interrupted
		return v
	case err == nil:
		v.state = resolved
		return v
	case errors.Is(err, topology.ErrUnknown):
		v.eventDelay = initializedEventDelay
	}
	v.problem = quietIfPodEvent(n, d, report.ProblemOf(err), err)
	return v
}

func labelOf(d *placement.Decision) verdict {
	unread := d.Placement.Uncertainty()
	if unread == nil {
		return verdict{about: aboutLabel, state: dropped}
	}
	return verdict{about: aboutLabel, state: wrong, problem: silent(report.ProblemOf(unread)), eventDelay: initializedEventDelay}
}

func deletionOf(absent bool, err error) verdict {
	v := verdict{about: aboutDeletion}
	switch {
	case placement.IsUnderWay(err):
	case absent && err == nil:
		v.state = dropped
	case placement.KeptReason(err) == "":
		v.state = resolved
	default:
		wrapped := fmt.Errorf("the Node is not ready but not deleted: %w", err)
		v.state = wrong
		v.eventDelay = initializedEventDelay
		v.problem = report.Problem{Key: placement.KeptReasonKey(err), Reason: placement.ReasonNotDeleted, Text: report.EventText(wrapped), Detail: wrapped.Error()}
	}
	return v
}
