package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/absence"
	"vzones/provider/condition"
	"vzones/provider/identity"
	"vzones/provider/nodestate"
	"vzones/vcenter/inventory"
)

const (
	// gather is how long changes of Nodes are gathered before they are acted
	// on, so that a burst of them costs one request and not one each.
	gather = 100 * time.Millisecond
	// busyTime is how long the framework may take to initialise Nodes before
	// anything else is written.
	busyTime = 2 * time.Second
	// again is the time between two rounds while nothing changes. They renew
	// what is remembered of machines.
	again = time.Minute
)

// rounds goes round all Nodes whenever something has changed. It belongs to one
// goroutine.
type rounds struct {
	c       *Controller
	teller  *teller
	records *records
	nodes   map[types.UID]*attended
	// followed are the machines that the fleet was last told of, where those
	// that Nodes say they were found as.
	followed, where []string
	// round counts the changes of the states.
	round int
	// states are those that a round goes by.
	states []inventory.State
	// busy says that the framework has Nodes to initialise, which comes first.
	busy bool
}

// attended is one Node.
type attended struct {
	// woken is what the framework was last told that the Node can be initialised
	// with.
	woken *cloudprovider.InstanceMetadata
	// wokenAt is when that was.
	wokenAt time.Time
	// judged is the Node, and round that of the states, for which that is right.
	judged *v1.Node
	round  int
	waits  condition.Condition
	// kept is why the Node is not deleted.
	kept condition.Condition
	// later reports whether another Node with the machine of an initialised one was
	// before it.
	later bool
}

func (r *rounds) run(ctx context.Context, nodes, states <-chan struct{}) {
	tick := time.NewTicker(again)
	defer tick.Stop()
	whole := false
	for {
		all := r.c.nodes.All()
		r.follow(all, whole)
		whole = false
		explain := r.look(all)
		select {
		case <-nodes:
			select {
			case <-time.After(gather):
			case <-ctx.Done():
			}
			select { // what has come meanwhile is about to be looked at
			case <-nodes:
			default:
			}
		case <-states:
			r.round++
		case <-explain:
		case <-tick.C:
			whole = true
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// follow tells the fleet about the machines of all Nodes, if they have changed.
// Where they were found counts only in a whole comparison: it is of use after a
// restart, and hundreds of Nodes that are initialised get it one by one.
func (r *rounds) follow(nodes []*v1.Node, whole bool) {
	ids := make([]inventory.Identity, 0, len(nodes))
	for _, n := range nodes {
		if r.c.placer.IsForeign(n) {
			continue
		}
		if id, err := r.c.placer.Statement(n); err == nil {
			ids = append(ids, id)
		}
	}
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = followKey(id)
	}
	slices.Sort(keys)
	where := make([]string, 0, len(ids))
	for _, id := range ids {
		if id.Known.VCenter != "" {
			where = append(where, identity.FormatLocation(id.Known))
		}
	}
	slices.Sort(where)
	if !slices.Equal(keys, r.followed) || whole && !slices.Equal(where, r.where) {
		r.followed, r.where = keys, where
		r.c.fleet.Follow(ids)
	}
}

// followKey is the same for a Node before it has its provider ID and after, when
// the other byte order of its UUID is ruled out: the machine is the same.
func followKey(id inventory.Identity) string {
	if len(id.UUIDs) == 0 {
		return id.Name
	}
	u := id.UUIDs[0]
	return min(u.String(), u.Swapped().String())
}

// look attends to each Node and returns when the next has been in its trouble for
// long enough to be told of.
func (r *rounds) look(nodes []*v1.Node) <-chan time.Time {
	r.states = r.c.fleet.States()
	gone := maps.Clone(r.nodes)
	absent := map[types.UID]bool{}
	next := time.Duration(0)
	if r.busy = r.initialising(nodes); r.busy {
		next = busyTime
	}
	searched := slices.ContainsFunc(r.states, func(s inventory.State) bool { return s.Snapshot != nil && s.Snapshot.Searched != nil })
	for _, n := range nodes {
		if r.c.placer.IsForeign(n) {
			continue
		}
		delete(gone, n.UID)
		here := r.nodes[n.UID]
		if here == nil {
			here = &attended{}
			r.nodes[n.UID] = here
		}
		search := r.c.placer.StartSearch(n.UID)
		left := time.Duration(0)
		if nodestate.IsUninitialized(n) {
			left = r.attendWaiting(n, here)
		} else {
			left = r.attendRunning(n, here)
		}
		if searched {
			next = soonest(next, search)
		}
		next = soonest(next, left)
		left, absent[n.UID] = r.attendAbsent(n, here)
		next = soonest(next, left)
	}
	r.c.checker.Retain(absent)
	for uid := range gone {
		delete(r.nodes, uid)
		r.c.placer.Forget(uid)
		r.records.forget(uid)
	}
	r.c.nodes.Deferred.Keep(nodes)
	if next == 0 {
		return nil
	}
	return time.After(next)
}

// soonest returns the shorter of two delays. One that is not positive is none.
func soonest(a, b time.Duration) time.Duration {
	if b <= 0 || a > 0 && a < b {
		return a
	}
	return b
}

// initialising says whether the framework was just told of Nodes that it has not
// initialised yet.
func (r *rounds) initialising(nodes []*v1.Node) bool {
	return slices.ContainsFunc(nodes, func(n *v1.Node) bool {
		here := r.nodes[n.UID]
		return here != nil && here.woken != nil && nodestate.IsUninitialized(n) && time.Since(here.wokenAt) < busyTime
	})
}

// attendAbsent has the absence of a machine confirmed, and has an Event say what keeps the
// Node. It returns how long that still takes, 0 if nothing is to be said, and whether
// the machine is absent.
func (r *rounds) attendAbsent(n *v1.Node, here *attended) (time.Duration, bool) {
	is := r.c.checker.Confirm(r.states, n)
	switch {
	case is.Searching:
		return absence.RetryMin, is.Absent // to see the result
	case is.Kept == nil:
		here.kept.Clear()
		return 0, is.Absent
	}
	why := fmt.Errorf("the Node is not ready and its machine is not found, but the Node is not deleted: %w", is.Kept)
	return here.kept.Observe(absence.KeptKey(is.Kept), patienceRunning, func() time.Duration {
		return r.teller.tell(complaint{node: n, what: "Node is not deleted", err: why, event: absence.ReasonNotDeleted})
	}), is.Absent
}
