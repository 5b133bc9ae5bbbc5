package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A ConditionName identifies a Condition. The values are stable, since programs read them.
type ConditionName string

// The conditions for deleting a Node, in the order in which they are checked.
const (
	Managed      ConditionName = "managed"
	NotReady     ConditionName = "not_ready"
	IdentifiesVM ConditionName = "names_vm"
	// Absent means that every vCenter was read completely and none has the VM.
	Absent ConditionName = "absent"
	// FoundBefore means that the Node has a provider ID and vzones has found its VM.
	FoundBefore ConditionName = "found_before"
	Enabled     ConditionName = "deletion_enabled"
	// Searched means that a later direct search did not find the VM.
	Searched ConditionName = "searched"
	// Detached means that the Node has no attached volume, or had time to detach it. It is a condition only if the
	// configuration requires the out-of-service taint, and only for a Node that has or gets it.
	Detached ConditionName = "volumes_detached"
)

var conditions = []struct {
	name  ConditionName
	check func(*deletion) error
}{
	{Managed, (*deletion).isManaged},
	{NotReady, (*deletion).isNotReady},
	{IdentifiesVM, (*deletion).identifiesVM},
	{Absent, (*deletion).isAbsent},
	{FoundBefore, (*deletion).wasFound},
	{Enabled, (*deletion).isEnabled},
}

type deletion struct {
	placer    *Placer
	states    []inventory.State
	node      *v1.Node
	id        inventory.Identity
	absentErr error
}

var (
	errExists   = errors.New("the VM exists")
	errDisabled = errors.New("nodes.skipDeletion or SKIP_NODE_DELETION is set")
)

func (q *deletion) isManaged() error {
	if q.placer.IsForeign(q.node) {
		return topology.Errorf(errExists, "Node %s is not managed by vzones: it has another provider's ID, or the configuration's nodes.selector excludes it", q.node.Name)
	}
	return nil
}

func (q *deletion) isNotReady() error {
	if nodeinfo.IsReady(q.node) {
		return errors.New("it is ready")
	}
	return nil
}

func (q *deletion) identifiesVM() (err error) {
	q.id, err = q.placer.Identify(q.node)
	return err
}

func (q *deletion) isAbsent() error {
	q.absentErr = inventory.Exists(q.states, q.id)
	q.placer.AskHome(q.absentErr)
	switch {
	case q.absentErr == nil:
		return errExists
	case !errors.Is(q.absentErr, topology.ErrAbsent):
		return q.absentErr
	}
	return nil
}

// wasFound also requires a provider ID. A provider ID alone is not enough, because the account may be unable to
// see the VM.
func (q *deletion) wasFound() error {
	switch {
	case q.node.Spec.ProviderID == "" && !q.id.WasFound():
		return topology.Errorf(topology.ErrUnknown, "Node %s has no provider ID, and vzones has never found its VM", q.node.Name)
	case q.node.Spec.ProviderID == "":
		return topology.Errorf(topology.ErrUnknown, "Node %s has no provider ID: if its VM is gone, delete the Node", q.node.Name)
	case !q.id.WasFound():
		return topology.Errorf(topology.ErrUnknown, "vzones has never found the VM of Node %s: if it is gone, delete the Node", q.node.Name)
	}
	return nil
}

func (q *deletion) isEnabled() error {
	if q.placer.Config().SkipNodeDeletion {
		return errDisabled
	}
	return nil
}

// whyKept returns the error of the first failed condition, or nil. NotReady is considered last.
func (q *deletion) whyKept() (last error) {
	for _, c := range conditions {
		err := c.check(q)
		switch {
		case err == nil:
		case c.name == NotReady:
			last = topology.Errorf(topology.ErrUnknown, "Node %s is ready again", q.node.Name)
		case c.name == FoundBefore:
			return fmt.Errorf("%w: %w", err, q.absentErr)
		case c.name == Enabled:
			return topology.Errorf(topology.ErrUnknown, "Node %s is kept, since %w: %w", q.node.Name, err, q.absentErr)
		default:
			return err
		}
	}
	return last
}

// A Checker decides whether a Node's VM exists.
type Checker struct {
	fleet     SearchedFleet
	placer    *Placer
	confirmer confirmer
}

// NewChecker returns a Checker.
func NewChecker(fleet SearchedFleet, placer *Placer) *Checker {
	searches := map[bool]workqueue.TypedInterface[wanted]{false: workqueue.NewTyped[wanted](), true: workqueue.NewTyped[wanted]()}
	return &Checker{fleet: fleet, placer: placer, confirmer: confirmer{fleet: fleet, memories: placer.memories, queues: searches}}
}

// Run searches for absent VMs. It calls ended, which must not block, for each new result.
func (c *Checker) Run(ctx context.Context, ended func(types.UID)) { c.confirmer.run(ctx, ended) }

// Outside returns inventory.ErrOutside if an absent VM is outside the configured datacenters, and
// ErrConfirming until the search ends.
func (c *Checker) Outside(node *v1.Node, id inventory.Identity) error {
	return c.confirmer.ask(node, true, id, true)
}

// CheckExists reports whether a Node's VM exists. The framework deletes the Node if not, which requires all conditions.
//
// It is true if the VM exists or the Node is another provider's. Anything else is an error, even an absence
// while nodes.skipDeletion is set. CheckExists does not wait for a search.
func (c *Checker) CheckExists(ctx context.Context, node *v1.Node) (bool, error) {
	q, absent, err := c.decide(node, true)
	switch {
	case absent && err != nil:
		return false, topology.Errorf(topology.ErrUnknown, "the VM with %s: %w", q.id, err)
	case errors.Is(err, errExists):
		return true, nil
	case err != nil:
		return false, err
	}
	klog.FromContext(ctx).Info("Every vCenter was searched and none has the VM", "node", klog.KObj(node),
		"vCenter", quote.Plain(cmp.Or(q.id.LastSeen.VCenter, q.id.Recorded.VCenter)), "vm", q.id.String())
	return false, nil
}

// CheckAhead starts a single search before the framework asks.
func (c *Checker) CheckAhead(node *v1.Node) (a Absence) {
	isNew := node.Spec.ProviderID == "" && (nodeinfo.IsUninitialized(node) || !c.placer.WasFound(node))
	if isNew || nodeinfo.IsReady(node) {
		c.confirmer.drop(node.UID)
		if isNew {
			return Absence{Taint: RemoveTaint, Evidence: "the VM was never found"}
		}
		return Absence{Taint: RemoveTaint, Evidence: "the Node is ready"}
	}
	var q *deletion
	q, a.IsAbsent, a.Err = c.decide(node, false)
	a.Taint, a.Evidence = c.taintAction(q, a.IsAbsent, a.Err)
	return a
}

// HasAnswer reports whether CheckExists would return no error. It starts a search that is due.
func (c *Checker) HasAnswer(node *v1.Node) bool {
	_, _, err := c.decide(node, true)
	return err == nil || errors.Is(err, errExists)
}

// decide returns no error if all conditions for the deletion are met. absent reports whether those before Searched are met.
// If so, decide starts a search that is due, but without repeat only the first. If not, it drops the search.
func (c *Checker) decide(node *v1.Node, repeat bool) (q *deletion, absent bool, err error) {
	q = &deletion{placer: c.placer, states: c.fleet.States(), node: node}
	if c.placer.nodes.IsStarted() {
		current, err := c.placer.nodes.Get(node.Name)
		switch {
		case err != nil:
			return q, false, topology.Errorf(topology.ErrUnknown, "Node %s is gone", node.Name)
		case current.UID != node.UID:
			return q, false, topology.Errorf(topology.ErrUnknown, "Node %s was replaced by another Node of its name", node.Name)
		default:
			q.node = current
		}
	}
	if err := q.whyKept(); err != nil {
		c.confirmer.drop(node.UID)
		return q, false, err
	}
	if err := c.confirmer.ask(q.node, false, q.id, repeat); err != nil {
		return q, true, err
	}
	return q, true, c.checkDetached(q)
}

// A Condition is a prerequisite for deleting a Node.
type Condition struct {
	Name ConditionName
	Err  error
	// Checked is false if an earlier failure makes the condition meaningless.
	Checked bool
}

// Holds reports whether the condition was checked and holds.
func (c Condition) Holds() bool { return c.Checked && c.Err == nil }

// Conditions checks every condition. If no snapshot has the VM, it waits for a direct search.
func (c *Checker) Conditions(ctx context.Context, states []inventory.State, node *v1.Node) []Condition {
	q := &deletion{placer: c.placer, states: states, node: node}
	results := make([]Condition, 0, len(conditions)+1)
	named := true
	searched := Condition{Name: Searched}
	for _, next := range conditions {
		result := Condition{Name: next.name, Checked: named}
		if named {
			result.Err = next.check(q)
		}
		switch next.name {
		case IdentifiesVM:
			named = result.Err == nil
		case Absent:
			searched.Checked = result.Holds()
		}
		results = append(results, result)
	}
	if searched.Checked {
		_, searched.Err = c.confirmer.search(ctx, q.id, false)
	}
	results = append(results, searched)
	if c.isTaintEnabled() {
		detached := Condition{Name: Detached, Checked: searched.Holds()}
		if detached.Checked {
			detached.Err = c.checkDetached(q)
		}
		results = append(results, detached)
	}
	return results
}

// ReasonNotDeleted is the reason of the Event about a Node that is kept.
const ReasonNotDeleted = "NodeDeletionBlocked"

// keepReasons are matched in order.
var keepReasons = []struct {
	err  error
	name string
}{
	{errDisabled, "deletion_disabled"},
	{ErrDetaching, "detaching_volumes"},
	{ErrConfirming, "confirming_absence"},
	{ErrSearchFailed, "search_failed"},
	{ErrStillThere, "found_by_search"},
	{inventory.ErrOutside, "vm_outside_datacenters"},
	{inventory.ErrUnreachable, "vcenter_unreachable"},
	{inventory.ErrUnreadable, "vm_unreadable"},
	{topology.ErrUnknown, "unknown"},
}

// KeptReason returns the reason in an error of CheckAhead, or "".
func KeptReason(err error) string {
	if err == nil || errors.Is(err, errExists) {
		return ""
	}
	for _, k := range keepReasons {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return keepReasons[len(keepReasons)-1].name
}

// IsUnderWay reports whether a Node is kept only because a search is running or volumes are being detached.
func IsUnderWay(err error) bool {
	return errors.Is(err, ErrDetaching) || errors.Is(err, ErrConfirming) && !errors.Is(err, ErrSearchFailed)
}

// KeptReasonKey returns equal keys for errors with the same meaning.
func KeptReasonKey(err error) string {
	reason := KeptReason(err)
	if errors.Is(err, ErrSearchFailed) {
		reason = KeptReason(ErrSearchFailed)
	}
	return reason + " " + strings.Join(inventory.UnreachableIn(err), " ")
}

// KeptHelp describes the reasons.
const KeptHelp = "deletion_disabled (nodes.skipDeletion), detaching_volumes (nodes.outOfService), confirming_absence (every vCenter is being searched), search_failed (a vCenter could not be searched), " +
	"found_by_search, vm_outside_datacenters, vcenter_unreachable, vm_unreadable (an unreadable VM may be the Node's), unknown (other data is unavailable)"

// KeptReasons returns the names of all reasons.
func KeptReasons() []string {
	names := make([]string, len(keepReasons))
	for i, k := range keepReasons {
		names[i] = k.name
	}
	return names
}
