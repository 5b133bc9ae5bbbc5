package absence

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodestate"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A ConditionName names a condition. It is one of a closed set, whose values are for programs too.
type ConditionName string

// The conditions, all of which have to hold for a Node to be deleted, in the order in which they
// are asked.
const (
	// Managed: the Node is not another provider's, and the configuration selects it.
	Managed ConditionName = "managed"
	// NotReady: the framework asks about Nodes that are not ready.
	NotReady ConditionName = "not_ready"
	// Named: the Node says which machine it runs on.
	Named ConditionName = "names_machine"
	// Absent: each vCenter was read completely, and none has the machine.
	Absent ConditionName = "absent"
	// FoundBefore: the Node has a provider ID, and vzones has found its machine before.
	FoundBefore ConditionName = "found_before"
	// Enabled: nodes.skipDeletion is not set.
	Enabled ConditionName = "deletion_enabled"
	// Searched: each vCenter was searched directly since, and none has the machine.
	Searched ConditionName = "searched"
)

// A Condition is what has to hold for a Node to be deleted.
type Condition struct {
	Name ConditionName
	// Err is why it does not hold, nil if it does or was not asked.
	Err error
	// Asked is false where another one that does not hold makes it meaningless.
	Asked bool
}

// Holds reports whether the condition is known to hold.
func (c Condition) Holds() bool { return c.Asked && c.Err == nil }

// Conditions returns what has to hold for a Node to be deleted, as CheckExists and the framework ask
// for it, and goes on after the first that does not hold. If no snapshot has the machine, it
// searches each vCenter directly, as Run would, and returns after that.
func (c *Checker) Conditions(ctx context.Context, states []inventory.State, node *v1.Node) []Condition {
	q := &question{of: c, states: states, node: node}
	all := []Condition{
		{Managed, c.isManaged(node), true},
		{NotReady, isNotReady(node), true},
		{Named, q.isNamed(), true},
	}
	named := all[2].Err == nil
	for _, next := range []struct {
		name  ConditionName
		check func() error
	}{{Absent, q.isAbsent}, {FoundBefore, q.wasFound}, {Enabled, q.isEnabled}} {
		one := Condition{Name: next.name, Asked: named}
		if named {
			one.Err = next.check()
			q.absent = nil // the others need not say it again
		}
		all = append(all, one)
	}
	searched := Condition{Name: Searched, Asked: all[3].Holds()}
	if searched.Asked {
		_, searched.Err = c.confirmer.search(ctx, q.id)
	}
	return append(all, searched)
}

func (c *Checker) isManaged(node *v1.Node) error {
	if c.placer.IsForeign(node) {
		return topology.Errorf(topology.ErrUnknown, "Node %s is not managed by vzones: it has another provider's ID, or the configuration's nodes.selector leaves it out", node.Name)
	}
	return nil
}

func isNotReady(node *v1.Node) error {
	if nodestate.IsReady(node) {
		return errors.New("it is ready")
	}
	return nil
}
