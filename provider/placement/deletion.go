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

// A ConditionName names a condition. It is one of a closed set, whose values are for programs too.
type ConditionName string

// The conditions, all of which have to hold for a Node to be deleted, in the order in which they
// are checked.
const (
	// Managed: the Node is not another provider's, and the configuration selects it.
	Managed ConditionName = "managed"
	// NotReady: the framework asks about Nodes that are not ready.
	NotReady ConditionName = "not_ready"
	// Named: the Node says which machine it runs on.
	Named ConditionName = "names_vm"
	// Absent: each vCenter was read completely, and none has the machine.
	Absent ConditionName = "absent"
	// FoundBefore: the Node has a provider ID, and vzones has found its machine before.
	FoundBefore ConditionName = "found_before"
	// Enabled: nodes.skipDeletion is not set.
	Enabled ConditionName = "deletion_enabled"
	// Searched: each vCenter was searched directly since, and none has the machine.
	Searched ConditionName = "searched"
)

// conditions has the checks that need only the Node and the snapshots. A check returns why its condition
// does not hold.
var conditions = []struct {
	name  ConditionName
	check func(*deletion) error
}{
	{Managed, (*deletion).isManaged},
	{NotReady, (*deletion).isNotReady},
	{Named, (*deletion).isNamed},
	{Absent, (*deletion).isAbsent},
	{FoundBefore, (*deletion).wasFound},
	{Enabled, (*deletion).isEnabled},
}

// A deletion is the question whether a Node is to be deleted.
type deletion struct {
	placer *Placer
	states []inventory.State
	node   *v1.Node
	// isNamed sets id, and isAbsent sets absent, the answer of the snapshots.
	id     inventory.Identity
	absent error
}

var (
	// errExists says that a machine exists.
	errExists = errors.New("the VM exists")
	// errDisabled says that no Node is deleted.
	errDisabled = errors.New("nodes.skipDeletion is set in the configuration")
)

func (q *deletion) isManaged() error {
	if q.placer.IsForeign(q.node) {
		return topology.Errorf(errExists, "Node %s is not managed by vzones: it has another provider's ID, or the configuration's nodes.selector leaves it out", q.node.Name)
	}
	return nil
}

func (q *deletion) isNotReady() error {
	if nodeinfo.IsReady(q.node) {
		return errors.New("it is ready")
	}
	return nil
}

func (q *deletion) isNamed() (err error) {
	q.id, err = q.placer.Identify(q.node)
	return err
}

func (q *deletion) isAbsent() error {
	q.absent = inventory.Exists(q.states, q.id)
	q.placer.AskHome(q.absent)
	switch {
	case q.absent == nil:
		return errExists
	case !errors.Is(q.absent, topology.ErrAbsent):
		return q.absent
	}
	return nil
}

// wasFound returns an error unless the Node is initialized and vzones has found its machine before. A
// provider ID alone may be from another provider or a kubelet, for a machine that no configured vCenter
// shows to the account.
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

// whyKept returns the first condition that does not hold, that the Node is ready last of all. It returns
// nil if the Node is to be deleted once a search has confirmed that no vCenter has its machine.
func (q *deletion) whyKept() (last error) {
	for _, c := range conditions {
		err := c.check(q)
		switch {
		case err == nil:
		case c.name == NotReady:
			last = topology.Errorf(topology.ErrUnknown, "Node %s is ready again", q.node.Name)
		case c.name == FoundBefore:
			return fmt.Errorf("%w: %w", err, q.absent)
		case c.name == Enabled:
			return topology.Errorf(topology.ErrUnknown, "Node %s is kept, since %w: %w", q.node.Name, err, q.absent)
		default:
			return err
		}
	}
	return last
}

// A Checker decides whether the machine of a Node exists. The framework deletes a Node whose machine
// does not exist.
type Checker struct {
	fleet     SearchedFleet
	placer    *Placer
	confirmer confirmer
}

// NewChecker returns a checker whose Run confirms absences.
func NewChecker(fleet SearchedFleet, placer *Placer) *Checker {
	searches := map[bool]workqueue.TypedInterface[wanted]{false: workqueue.NewTyped[wanted](), true: workqueue.NewTyped[wanted]()}
	return &Checker{fleet: fleet, placer: placer, confirmer: confirmer{fleet: fleet, memories: placer.memories, queues: searches}}
}

// Run searches for absent machines until the context is done. It calls ended, which must not
// wait, with each Node whose search has a result.
func (c *Checker) Run(ctx context.Context, ended func(types.UID)) { c.confirmer.run(ctx, ended) }

// Outside returns inventory.ErrOutside if a search has found an absent machine of a Node outside of the
// configured datacenters, nil if it has not, and ErrConfirming until it has ended.
func (c *Checker) Outside(node *v1.Node, id inventory.Identity) error {
	return c.confirmer.ask(node, true, id, true)
}

// CheckExists reports whether a Node's machine exists. False makes the framework delete the Node. It
// is returned only if all of this is true: the Node has a provider ID; the Node's annotation or this
// process knows where vzones found the machine; the index of every vCenter is complete, and none has the
// machine; and a direct search of every vCenter has not found it since then. If the machine exists, or the
// Node is another provider's, CheckExists returns true. Everything else is an error, also an absence while
// nodes.skipDeletion is set.
//
// CheckExists does not wait for a search. The framework asks about each Node that is not ready every
// few seconds, and gets the latest result.
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

// CheckAhead is CheckExists before the framework asks: it starts one search for an absent machine, so that
// there is an answer by then. Absent reports whether the machine is absent by all snapshots. If it is and
// there is no error, the Node may be deleted. The error says why the Node is kept: see KeptBy.
func (c *Checker) CheckAhead(node *v1.Node) (absent bool, err error) {
	isNew := node.Spec.ProviderID == "" && (nodeinfo.IsUninitialized(node) || !c.placer.WasFound(node))
	if isNew || nodeinfo.IsReady(node) {
		c.confirmer.drop(node.UID)
		return false, nil // the framework does not ask
	}
	_, absent, err = c.decide(node, false)
	return absent, err
}

// HasAnswer reports whether CheckExists has an answer about a Node, and no error. Like CheckExists it starts the
// search for an absent machine.
func (c *Checker) HasAnswer(node *v1.Node) bool {
	_, _, err := c.decide(node, true)
	return err == nil || errors.Is(err, errExists)
}

func (c *Checker) decide(node *v1.Node, asks bool) (q *deletion, absent bool, err error) {
	q = &deletion{placer: c.placer, states: c.fleet.States(), node: node}
	if c.placer.nodes.IsStarted() {
		// The framework deletes by name, from a list that may be minutes old.
		now, err := c.placer.nodes.Get(node.Name)
		switch {
		case err != nil:
			return q, false, topology.Errorf(topology.ErrUnknown, "Node %s is gone", node.Name)
		case now.UID != node.UID:
			return q, false, topology.Errorf(topology.ErrUnknown, "there is another Node %s now", node.Name)
		default:
			q.node = now
		}
	}
	if err := q.whyKept(); err != nil {
		c.confirmer.drop(node.UID)
		return q, false, err
	}
	return q, true, c.confirmer.ask(q.node, false, q.id, asks)
}

// A Condition has to hold for a Node to be deleted.
type Condition struct {
	Name ConditionName
	// Err says why it does not hold. It is nil if it holds or was not checked.
	Err error
	// Asked is false where another one that does not hold makes it meaningless.
	Asked bool
}

// Holds reports whether the condition is known to hold.
func (c Condition) Holds() bool { return c.Asked && c.Err == nil }

// Conditions returns what has to hold for a Node to be deleted, and goes on after the first that does
// not hold. If no snapshot has the machine, it searches each vCenter directly, as Run would, and
// returns after that.
func (c *Checker) Conditions(ctx context.Context, states []inventory.State, node *v1.Node) []Condition {
	q := &deletion{placer: c.placer, states: states, node: node}
	all := make([]Condition, 0, len(conditions)+1)
	named := true
	searched := Condition{Name: Searched}
	for _, next := range conditions {
		one := Condition{Name: next.name, Asked: named}
		if named {
			one.Err = next.check(q)
		}
		switch next.name {
		case Named:
			named = one.Err == nil
		case Absent:
			searched.Asked = one.Holds()
		}
		all = append(all, one)
	}
	if searched.Asked {
		_, searched.Err = c.confirmer.search(ctx, q.id, false)
	}
	return append(all, searched)
}

// ReasonNotDeleted is the reason of the Event that says why a Node is not deleted.
const ReasonNotDeleted = "NodeDeletionBlocked"

// kept are the reasons why a Node is kept although it is not ready and its machine is not found, in
// the order in which an error is compared with them. The last is for every other error.
var kept = []struct {
	err error
	// name is the value of the metric's label.
	name string
}{
	{errDisabled, "deletion_disabled"},
	{ErrConfirming, "confirming_absence"},
	{ErrSearchFailed, "search_failed"},
	{ErrStillThere, "found_by_search"},
	{inventory.ErrOutside, "vm_outside_datacenters"},
	{inventory.ErrUnreachable, "vcenter_unreachable"},
	{inventory.ErrUnreadable, "vm_unreadable"},
	{topology.ErrUnknown, "unknown"},
}

// KeptBy returns the reason that an error of CheckAhead stands for, empty if the Node is not kept: its
// machine exists, the framework does not ask, or it may be deleted.
func KeptBy(err error) string {
	if err == nil || errors.Is(err, errExists) {
		return ""
	}
	for _, k := range kept {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return kept[len(kept)-1].name
}

// IsSearching reports whether an error of CheckAhead says only that a search is under way.
func IsSearching(err error) bool {
	return errors.Is(err, ErrConfirming) && !errors.Is(err, ErrSearchFailed)
}

// KeptKey returns the same key for errors that say the same to a person. That a search fails is
// the same for all machines.
func KeptKey(err error) string {
	reason := KeptBy(err)
	if errors.Is(err, ErrSearchFailed) {
		reason = KeptBy(ErrSearchFailed)
	}
	return reason + " " + strings.Join(inventory.UnreachableIn(err), " ")
}

// KeptHelp explains the reasons in a line.
const KeptHelp = "deletion_disabled (nodes.skipDeletion), confirming_absence (every vCenter is being searched), search_failed (a vCenter could not be), " +
	"found_by_search, vm_outside_datacenters, vcenter_unreachable, vm_unreadable (one that may be it), unknown (something else is)"

// KeptReasons returns all reasons.
func KeptReasons() []string {
	names := make([]string, len(kept))
	for i, k := range kept {
		names[i] = k.name
	}
	return names
}
