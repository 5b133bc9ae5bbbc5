package nodes

import (
	"errors"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/condition"
	"vzones/provider/identity"
	"vzones/provider/placement"
	"vzones/topology"
)

const (
	// patience is how long a Node waits before an Event says for what. Every
	// Node waits for a moment.
	patience = 10 * time.Second
	// patienceRunning is the same for a Node that is initialised: nothing waits
	// for it, and a vCenter that is back soon concerns nobody.
	patienceRunning = 30 * time.Second
)

// attendWaiting wakes the framework for a Node that can be initialised now, and
// has an Event tell what another one waits for. It returns how long that still
// takes, 0 if nothing is to be told.
func (r *rounds) attendWaiting(n *v1.Node, here *attended) time.Duration {
	if r.c.nodes.Deferred.Take(n.UID) {
		here.woken = nil // the framework does not go by that
	}
	if here.woken != nil && here.judged == n && here.round == r.round {
		return 0
	}
	d, err := r.c.placer.Initial(n)
	if err == nil {
		err = r.wake(n, here, d)
		if err == nil {
			here.waits.Clear()
			here.judged, here.round = n, r.round
			return 0
		}
		return here.waits.Observe(condition.Key(err), patience, func() time.Duration { return r.teller.tell(complaint{node: n, what: "Node waits", err: err}) })
	}
	if errors.Is(err, placement.ErrQuiet) {
		for _, s := range r.states {
			if s.Trouble == nil {
				r.c.fleet.Probe(s.VCenter)
			}
		}
	}
	here.woken = nil
	return here.waits.Observe(condition.Key(err), patience, func() time.Duration { return r.teller.tell(complaint{node: n, what: "Node waits", err: err}) })
}

// wake announces a Node that can be initialised, unless that was done with the same. The
// error is why it waits all the same, for the controller that is announced to as well.
func (r *rounds) wake(n *v1.Node, here *attended, d *placement.Initial) error {
	waits := d.Waits(n)
	if !reflect.DeepEqual(here.woken, d.Metadata) {
		here.woken, here.wokenAt = d.Metadata, time.Now()
		if waits != nil {
			here.wokenAt = time.Time{} // the framework does not initialise it
		}
		r.c.nodes.Announce(n)
	}
	return waits
}

// attendRunning remembers where the machine of an initialised Node is, and has
// an Event tell what is wrong with it.
func (r *rounds) attendRunning(n *v1.Node, here *attended) time.Duration {
	here.woken = nil
	r.c.placer.EndNameWait(n.UID)
	seen, err := r.c.placer.See(n)
	if err == nil && !r.busy && seen.Location != "" {
		r.records.want(n.UID, finding{n.Name, seen.Location, seen.VCenter})
	}
	err = identity.WithContradiction(n, err)
	never := n.Spec.ProviderID == "" && (errors.Is(err, topology.ErrAbsent) || errors.Is(err, topology.ErrUnknown))
	if err == nil {
		err = r.attendShared(n, seen, here)
	}
	if err == nil || never {
		here.waits.Clear() // or the Node never was ours, as far as is known
		return 0
	}
	return here.waits.Observe(condition.Key(err), patienceRunning, func() time.Duration { return r.teller.tell(complaint{node: n, what: "Node is in doubt", err: err}) })
}

// attendShared returns what is wrong with an initialized Node whose machine was found. When
// another Node with that machine is gone, whoever writes labels is notified.
func (r *rounds) attendShared(n *v1.Node, seen placement.Seen, here *attended) error {
	s, err := r.c.placer.Shared(n, seen)
	if err == nil {
		err = s.Err()
	}
	later := s.IsLater()
	if here.later && !later {
		r.c.fleet.Probe(seen.Machine.Ref.VCenter)
	}
	here.later = later
	return err
}
