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
	// aboutMachine is what the Node waits for, or why its machine is not certain.
	aboutMachine = "machine"
	// aboutOwner is that it is not known whether the Node is ours. Only the condition says so.
	aboutOwner = "owner"
	// aboutDeletion is why the Node is not deleted although its machine is not found.
	aboutDeletion = "deletion"
	// aboutPlace is why a machine has no placement.
	aboutPlace = "place"
	// aboutLeftOut are the addresses that the Node does not get because of --node-ip.
	aboutLeftOut = "left out"
	aboutDrift   = "drift"
	aboutType    = "type"
	// aboutLabel is that a label is not known that the Node can do without, or has. Only the condition says so.
	aboutLabel = "label"
	// aboutConflict begins the subject of a conflict, whose key follows.
	aboutConflict = "conflict "
)

const (
	// waitingBeforeEvent is how long a Node waits before an Event says for what. Every
	// Node waits for a moment.
	waitingBeforeEvent = 10 * time.Second
	// runningBeforeEvent is how long a problem of an initialized Node lasts before an Event says so.
	// A short outage of a vCenter needs no Event.
	runningBeforeEvent = 30 * time.Second
	// unplacedBeforeEvent is how long a Node has to be without a placement before an Event says so:
	// after a move the tags of its new host are read first.
	unplacedBeforeEvent = 10 * time.Second
	// mostLabels is how many labels one Event names. The annotation that lists those to be
	// removed is the kubelet's to write.
	mostLabels = 10
)

// A verdict is the result of a decision about a Node for one subject.
type verdict struct {
	about string
	state state
	// problem is set in state wrong, and recorded once it has lasted for the time after.
	problem report.Problem
	after   time.Duration
	// isSilent reports whether only the condition contains the problem, and no Event.
	isSilent bool
	// absent identifies a machine that no vCenter has, nil for any other problem. It is searched for outside of the
	// configured datacenters before the Event.
	absent *inventory.Identity
}

// state is the state of a subject.
type state int

const (
	// unknown: the facts cannot be read. A recorded problem remains.
	unknown state = iota
	wrong
	// over: nothing is wrong. If an Event reported a problem, another Event reports its end.
	over
	// dropped: nothing is wrong, and no Event reports the end of a problem.
	dropped
	// interrupted: nothing is wrong for now. The next problem has to last for the whole time after.
	interrupted
)

// problemsOf returns the verdicts about an initialized Node in the order of their Events. Todo is the plan of its labels, nil
// unless labels are kept.
func problemsOf(n *v1.Node, d *placement.Decision, by *plan.Policy, todo *plan.Plan, now time.Time) []verdict {
	all := []verdict{machineOf(n, d), ownerOf(n, d), leftOutOf(d)}
	if todo != nil {
		all = append(all, driftOf(n, d, by, todo, now), typeOf(d, by, todo, now), placeOf(d, todo), labelOf(d))
	}
	return all
}

// machineProblem returns why the machine of an initialized Node is not certain, or why the Node gets only labels.
func machineProblem(n *v1.Node, d *placement.Decision) error {
	return cmp.Or(d.MachineErr, nodeinfo.CheckProviderID(n))
}

// mayBeAnothers reports whether an initialized Node may belong to another provider: it has no provider ID, and vzones neither
// finds its machine nor ever found it.
func mayBeAnothers(n *v1.Node, d *placement.Decision) bool {
	err := machineProblem(n, d)
	isFound := !errors.Is(err, topology.ErrAbsent) && !errors.Is(err, topology.ErrUnknown)
	return n.Spec.ProviderID == "" && !d.WasFound && !isFound && !errors.Is(err, placement.ErrShared)
}

func machineOf(n *v1.Node, d *placement.Decision) verdict {
	err := machineProblem(n, d)
	switch {
	case err == nil:
		return verdict{about: aboutMachine, state: over}
	case mayBeAnothers(n, d):
		return verdict{about: aboutMachine, state: dropped}
	default:
		return withoutMachine(n, err, runningBeforeEvent)
	}
}

// withoutMachine returns the verdict about a Node whose machine is not certain.
func withoutMachine(n *v1.Node, err error, after time.Duration) verdict {
	v := verdict{about: aboutMachine, state: wrong, problem: report.ProblemOf(err), after: after}
	id, unidentified := nodeinfo.IdentityOf(n)
	if errors.Is(err, topology.ErrAbsent) && unidentified == nil && len(id.UUIDs) > 0 {
		v.absent = &id
	}
	return v
}

// ownerOf is about a Node whose condition may have been right when it was written.
func ownerOf(n *v1.Node, d *placement.Decision) verdict {
	if mayBeAnothers(n, d) && !report.NeverOurs(n, d) && report.ConditionOf(n).Status != "" {
		return verdict{about: aboutOwner, state: wrong, problem: report.ProblemOf(d.MachineErr), after: runningBeforeEvent, isSilent: true}
	}
	return verdict{about: aboutOwner, state: dropped}
}

// leftOutOf is about addresses that an initialized Node does not get because of --node-ip.
func leftOutOf(d *placement.Decision) verdict {
	v := verdict{about: aboutLeftOut}
	switch {
	case d.Addresses.LeftOut != nil:
		text := d.Addresses.LeftOut.Error()
		v.state = wrong
		v.problem = report.Problem{Key: text, Reason: report.ReasonLeftOut, Text: text}
	case len(d.Addresses.Addresses) > 0:
		v.state = over
	}
	return v
}

// driftOf is about the differences that have settled and are not about to be written. As long as a label of the
// Node may be wrong, the drift is not over.
func driftOf(n *v1.Node, d *placement.Decision, by *plan.Policy, todo *plan.Plan, now time.Time) verdict {
	v := verdict{about: aboutDrift}
	if d.PlaceErr != nil {
		return v
	}
	var texts []string
	var advice string
	for _, one := range todo.Drifts {
		isWritten := slices.ContainsFunc(todo.Changes, func(c plan.Change) bool { return c.Label == one.Label })
		if one.Since.Add(by.Settle).After(now) || isWritten {
			continue
		}
		texts = append(texts, one.Text())
		if one.IsCertain() {
			advice = by.Advice()
		} else if advice == "" {
			advice = fmt.Sprintf("it is left as it is: %v", one.Uncertain)
		}
	}
	if len(texts) == 0 {
		if _, uncertain := plan.UncertainLabel(n, d.Placement); len(todo.Drifts) == 0 && uncertain == nil {
			v.state = over
		}
		return v
	}
	for _, held := range todo.Held {
		texts = append(texts, held.Text())
	}
	text := quote.NoteWith(quote.Reasons(texts, mostLabels), advice)
	v.state = wrong
	v.problem = report.Problem{Key: text, Reason: plan.ReasonDrift, Text: text}
	return v
}

// typeOf is about an instance type that has differed for long enough and is not
// about to be written.
func typeOf(d *placement.Decision, by *plan.Policy, todo *plan.Plan, now time.Time) verdict {
	v := verdict{about: aboutType}
	if len(todo.Resized) == 0 {
		// Without the machine's type it is not known to be right again.
		if d.InstanceType != "" {
			v.state = over
		}
		return v
	}
	one := todo.Resized[0]
	if by.Drift == config.DriftUpdate || one.Since.Add(by.Settle).After(now) {
		return v
	}
	text := quote.NoteWith(one.Text(), "it stays as it is: correct it, or set topology.drift to update in the configuration")
	v.state = wrong
	v.problem = report.Problem{Key: text, Reason: plan.ReasonTypeDrift, Text: text}
	return v
}

// placeOf is about a machine without a placement.
func placeOf(d *placement.Decision, todo *plan.Plan) verdict {
	err := cmp.Or(d.PlaceErr, todo.TaintKept)
	v := verdict{about: aboutPlace, state: wrong, after: unplacedBeforeEvent}
	switch {
	case d.Machine == nil:
		v.state = interrupted
		return v
	case err == nil:
		v.state = over
		return v
	case errors.Is(err, topology.ErrUnknown):
		v.after = runningBeforeEvent
	}
	v.problem = report.ProblemOf(err)
	return v
}

func labelOf(d *placement.Decision) verdict {
	unread := d.Placement.Uncertainty()
	if unread == nil {
		return verdict{about: aboutLabel, state: dropped}
	}
	return verdict{about: aboutLabel, state: wrong, problem: report.ProblemOf(unread), after: runningBeforeEvent, isSilent: true}
}

// deletionOf is about a Node that is kept although it is not ready and its machine is not found. Absent and err are those of
// placement.Checker.CheckAhead.
func deletionOf(absent bool, err error) verdict {
	v := verdict{about: aboutDeletion}
	switch {
	case placement.IsSearching(err): // its end enqueues the Node
	case absent && err == nil:
		v.state = dropped // nothing is over: it is being deleted
	case placement.KeptBy(err) == "":
		v.state = over
	default:
		why := fmt.Errorf("the Node is not ready, and not deleted: %w", err)
		v.state = wrong
		v.after = runningBeforeEvent
		v.problem = report.Problem{Key: placement.KeptKey(err), Reason: placement.ReasonNotDeleted, Text: report.EventText(why), Detail: why.Error()}
	}
	return v
}
