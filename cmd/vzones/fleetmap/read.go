package fleetmap

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

type reader struct {
	policy topology.Policy // The complete policy; hosts use only a part of it.
	states []inventory.State
	fleet  *fleet
	// hostsByID are the hosts by vCenter and ID. IDs repeat between vCenters.
	hostsByID map[[2]string]*host
}

func read(ctx context.Context, w *world.World) *fleet {
	r := &reader{policy: w.Config.Topology.Policy, states: w.States, hostsByID: map[[2]string]*host{}}
	r.fleet = &fleet{Read: time.Now(), HasNodes: w.Client != nil}
	surveys := w.Survey(ctx, world.SurveyQuery{Categories: r.policy.Categories()})
	for i := range w.States {
		s := &w.States[i]
		survey := &surveys[i]
		v := &vcenter{s.VCenter, vcenterMarks(s, survey)}
		if inventory.FirstEntry(w.States, s.VCenter) == s.VCenter || len(v.Marks) > 0 {
			r.fleet.VCenters = append(r.fleet.VCenters, v)
		}
		inDatacenter := survey.Within(w.Config.VCenters[i].Datacenters)
		for _, o := range survey.Objects {
			if o.Ref.Type == world.TypeHost && inDatacenter(o) {
				r.host(o.Up(), survey.Invisible)
			}
		}
	}
	for _, n := range w.Nodes {
		if l := w.Look(n); l.Foreign {
			r.fleet.Foreign++
		} else {
			r.node(l)
		}
	}
	return r.fleet
}

func vcenterMarks(s *inventory.State, survey *world.Survey) (marks []mark) {
	if s.Err != nil {
		return []mark{newMark(unread, world.Plain(s.VCenter, s.Err))}
	}
	for _, err := range []error{s.Snapshot.Incomplete, survey.Err, survey.ObjectsErr} {
		if err != nil {
			marks = append(marks, newMark(incomplete, world.Plain(s.VCenter, err)))
		}
	}
	for _, category := range survey.Invisible {
		marks = append(marks, newMark(incomplete, "tag category "+quote.Value(category)+" does not exist, or the account cannot see it: "+
			"correct its name in the configuration, create the category, or give the account the role Read-only in the global permissions"))
	}
	return marks
}

// host returns the host at the start of a path, and adds it to the fleet if it is new.
func (r *reader) host(up topology.Path, invisible []string) *host {
	o := up.Objects[0]
	key := [2]string{inventory.FirstEntry(r.states, o.Ref.VCenter), o.Ref.ID}
	if h := r.hostsByID[key]; h != nil {
		return h
	}
	policy, _ := world.HostPolicy(r.policy)
	policy.Invisible = invisible
	p := world.PlaceHost(r.states, policy, up)
	h := &host{VCenter: key[0], ID: key[1], Name: o.Name, Cluster: p.Under.Path, Standalone: p.Under == p.Host}
	h.resolve(policy, p)
	r.hostsByID[key] = h
	r.fleet.hosts = append(r.fleet.hosts, h)
	return h
}

// resolve sets the region and zone that the host gives to its VMs.
func (h *host) resolve(policy topology.Policy, p world.HostPlace) {
	h.place = placeOf(p.Placement)
	var missing, reasons []string
	for _, rule := range policy.Rules {
		why := p.Placement.WhyUndecided(rule.Label)
		switch {
		case errors.Is(why, topology.ErrNoCategory): // The vCenter has a mark for this.
		case why != nil:
			reasons = append(reasons, why.Error())
		case slices.Contains(p.Missing, rule.Label):
			missing = append(missing, "no "+world.Short(rule.Label))
		}
	}
	if len(missing) > 0 {
		h.Marks = append(h.Marks, newMark(untagged, strings.Join(missing, " and ")))
	}
	if len(reasons) > 0 {
		h.Marks = append(h.Marks, newMark(undecided, strings.Join(slices.Compact(reasons), "; ")))
	}
}

func placeOf(placed topology.Placement) (p place) {
	for _, d := range placed.Decisions {
		switch d.Label {
		case topology.LabelRegion:
			p.Region = d.Value
			p.RegionBy = d.Source()
		case topology.LabelZone:
			p.Zone = d.Value
			p.ZoneBy = d.Source()
		}
	}
	return p
}

func (r *reader) node(l *world.Look) {
	n := &node{Name: l.Node.Name, ControlPlane: l.IsControlPlane(), place: placeOf(l.Place.Placement)}
	r.fleet.nodes = append(r.fleet.nodes, n)
	m := l.Place.VM
	why := quote.Line(l.Text())
	lacks := func(label string) bool { return r.policy.IsRequired(label) && l.Place.Placement.Value(label) == "" }
	if m == nil || lacks(topology.LabelRegion) || lacks(topology.LabelZone) {
		n.Marks = []mark{newMark(unplaced, cmp.Or(why, "its placement is unknown"))}
		return
	}
	n.VM = quote.Name(m.Ref.Located(m.InventoryPath))
	n.host = r.hostOf(m)
	for _, d := range l.Differences {
		if d.Missing || d.IsCertain() {
			n.Marks = append(n.Marks, newMark(drift, world.DifferenceText(&d)))
		}
	}
	if l.Off || m.Power.IsOff() || m.WasOff {
		n.Marks = append(n.Marks, newMark(off, "its VM is off or suspended"))
	}
	switch {
	case l.Uninitialized:
		n.Marks = append(n.Marks, newMark(uninitialized, strings.TrimSuffix("it is not initialized: "+why, ": ")))
	case why != "":
		n.Marks = append(n.Marks, newMark(problem, why))
	}
}

// hostOf returns the host of a VM. One placeholder stands for all unknown hosts of a vCenter.
func (r *reader) hostOf(m *inventory.VM) *host {
	for _, p := range m.Paths {
		if p.Kind == topology.ComputePath && len(p.Objects) > 0 && p.Objects[0].Ref.Type == world.TypeHost {
			return r.host(p, inventory.StateOf(r.states, m.Ref.VCenter).Snapshot.InvisibleCategories)
		}
	}
	key := [2]string{inventory.FirstEntry(r.states, m.Ref.VCenter)}
	if r.hostsByID[key] == nil {
		r.hostsByID[key] = &host{VCenter: key[0]}
		r.fleet.hosts = append(r.fleet.hosts, r.hostsByID[key])
	}
	return r.hostsByID[key]
}
