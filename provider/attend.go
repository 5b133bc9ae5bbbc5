package provider

import (
	"errors"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/topology"
	"vzones/vcenter/inventory"
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
	if r.provider.waits.take(n.UID) {
		here.woken = nil // the framework does not go by that
	}
	if here.woken != nil && here.judged == n && here.round == r.round {
		return 0
	}
	d, err := r.provider.initial(n)
	if err == nil {
		err = r.wake(n, here, d)
		if err == nil {
			here.grievance = grievance{}
			here.judged, here.round = n, r.round
			return 0
		}
		return here.tell(key(err), patience, func() time.Duration { return r.teller.tell(complaint{node: n, what: "Node waits", err: err}) })
	}
	if errors.Is(err, errQuiet) {
		for _, s := range r.states {
			if s.Trouble == nil {
				r.provider.fleet.Probe(s.VCenter)
			}
		}
	}
	here.woken = nil
	return here.tell(key(err), patience, func() time.Duration { return r.teller.tell(complaint{node: n, what: "Node waits", err: err}) })
}

// wake announces a Node that can be initialised, unless that was done with the same. The
// error is why it waits all the same, for the controller that is announced to as well.
func (r *rounds) wake(n *v1.Node, here *attended, d *description) error {
	waits := d.waits(n)
	if !reflect.DeepEqual(here.woken, d.metadata) {
		here.woken, here.wokenAt = d.metadata, time.Now()
		if waits != nil {
			here.wokenAt = time.Time{} // the framework does not initialise it
		}
		r.provider.nodes.wake(n)
	}
	return waits
}

// attendRunning remembers where the machine of an initialised Node is, and has
// an Event tell what is wrong with it.
func (r *rounds) attendRunning(n *v1.Node, here *attended) time.Duration {
	here.woken = nil
	r.provider.held.forget(n.UID)
	m, err := r.sight(n)
	err = contradicted(n, err)
	never := n.Spec.ProviderID == "" && (errors.Is(err, topology.ErrAbsent) || errors.Is(err, topology.ErrUnknown))
	if err == nil {
		err = r.attendTwin(n, m, here)
	}
	if err == nil || never {
		here.grievance = grievance{} // or the Node never was ours, as far as is known
		return 0
	}
	return here.tell(key(err), patienceRunning, func() time.Duration { return r.teller.tell(complaint{node: n, what: "Node is in doubt", err: err}) })
}

// sight finds the machine of an initialised Node in a vCenter that is in
// contact.
func (r *rounds) sight(n *v1.Node) (*inventory.Machine, error) {
	named, err := r.provider.named(r.states, n)
	m, in, err := reached(r.states, named, err)
	if err != nil {
		return nil, err
	}
	r.provider.sightings.note(n.UID, inventory.Sighting{VCenter: in.VCenter, ID: m.Ref.ID, At: in.Contact, Instance: in.Snapshot.Instance})
	r.provider.sightings.back(n, m)
	if r.busy || n.Spec.ProviderID == "" {
		return m, nil
	}
	if id, err := identify(n); err == nil && !isRecorded(r.states, id, m, in.Snapshot) && parseRecord(formatRecord(m.Ref)) == m.Ref {
		r.records.want(n.UID, finding{n.Name, formatRecord(m.Ref), in.Snapshot.Instance})
	}
	return m, nil
}

// isRecorded says whether a Node tells where its machine is. One that names another entry
// of the same vCenter, which is in trouble just now, does: it is not written for each outage.
func isRecorded(states []inventory.State, id inventory.Identity, m *inventory.Machine, in *inventory.Snapshot) bool {
	if id.Known == m.Ref {
		return id.KnownIn == in.Instance || in.Instance == ""
	}
	named := inventory.StateOf(states, id.Known.VCenter)
	return named.VCenter != "" && named.Trouble != nil && inventory.IsShown(states, m.Ref, id.Known, id.KnownIn)
}

// grievance is what is wrong with a Node, and since when.
type grievance struct {
	key   string
	since time.Time
	// said is the key of what the last Event told.
	said string
}

// tell calls say for each key that has held for long enough, once unless that
// has to wait, and returns how long that still takes, 0 if it is said.
func (g *grievance) tell(key string, patience time.Duration, say func() time.Duration) time.Duration {
	if key != g.key {
		g.key, g.since = key, time.Now()
	}
	if g.key == g.said {
		return 0
	}
	if left := patience - time.Since(g.since); left > 0 {
		return left
	}
	if left := say(); left > 0 {
		return left
	}
	g.said = g.key
	return 0
}
