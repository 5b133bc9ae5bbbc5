package fleetmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	r.fleet = &fleet{Cluster: w.Cluster, Read: time.Now(), HasNodes: w.Client != nil || len(w.Nodes) > 0}
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
	for i := range w.States {
		r.addUnread(&w.States[i])
	}
	return r.fleet
}

// addUnread adds a placeholder for the hosts of a vCenter that was not read, unless the map has one.
func (r *reader) addUnread(s *inventory.State) {
	first := inventory.FirstEntry(r.states, s.VCenter)
	if s.Err == nil || slices.ContainsFunc(r.fleet.hosts, func(h *host) bool { return h.VCenter == first }) {
		return
	}
	r.unknownHost(s.VCenter, unreadCause(s))
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
	if m != nil {
		n.VM = quote.Name(m.Ref.Located(m.InventoryPath))
		n.host = r.hostOf(m)
	}
	why := quote.Line(l.Text())
	lacks := func(label string) bool { return r.policy.IsRequired(label) && l.Place.Placement.Value(label) == "" }
	if m == nil || lacks(topology.LabelRegion) || lacks(topology.LabelZone) {
		n.Marks = []mark{newMark(unplaced, cmp.Or(why, "its placement is unknown"))}
		r.placeUnplaced(n, l)
		return
	}
	if n.host == nil {
		n.host = r.unknownHost(m.Ref.VCenter, nil)
	}
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

// placeUnplaced sets the place and the cause of a Node without a placement: the place of its VM's host. If
// the host is unknown, it is the place in the Node's labels, on the unknown hosts of the vCenter where its VM
// was last found.
func (r *reader) placeUnplaced(n *node, l *world.Look) {
	vcenter := inventory.StateOf(r.states, l.VCenter())
	recorded := l.Identity.Recorded
	unreachable := inventory.UnreachableIn(l.Err)
	switch {
	case vcenter.Err != nil && slices.Contains(unreachable, vcenter.VCenter):
		n.cause = unreadCause(&vcenter)
	case len(unreachable) > 0:
		n.cause = &cause{Key: "vCenters " + strings.Join(unreachable, " ")}
	case n.host != nil:
		n.cause = &cause{Key: fmt.Sprintf("%s %q %q", l.Reason(), n.host.VCenter, n.host.Cluster)}
	default:
		n.cause = &cause{Key: fmt.Sprintf("%s %q", l.Reason(), vcenter.VCenter)}
	}
	n.cause.Reason = l.Reason()
	if n.host != nil {
		n.place = n.host.place
		return
	}
	if n.VM == "" && recorded.ID != "" {
		n.VM = quote.Name("recorded: " + recorded.Located(""))
	}
	n.cause.title = cmp.Or(n.cause.title, strings.TrimSuffix("unknown hosts: "+l.Reason(), ": "))
	n.place = place{Region: world.ValueOn(l.Node, topology.LabelRegion), Zone: world.ValueOn(l.Node, topology.LabelZone)}
	if n.Region != "" {
		n.RegionBy = byLabels
	}
	if n.Zone != "" {
		n.ZoneBy = byLabels
	}
	n.host = r.unknownHost(vcenter.VCenter, n.cause)
}

func unreadCause(s *inventory.State) *cause {
	return &cause{Key: "unread " + s.VCenter, title: "hosts of vCenter " + s.VCenter + ", which was not read", text: quote.Text(world.Plain(s.VCenter, s.Err))}
}

// hostOf returns the host of a VM, or nil if it is unknown.
func (r *reader) hostOf(m *inventory.VM) *host {
	for _, p := range m.Paths {
		if p.Kind == topology.ComputePath && len(p.Objects) > 0 && p.Objects[0].Ref.Type == world.TypeHost {
			return r.host(p, inventory.StateOf(r.states, m.Ref.VCenter).Snapshot.InvisibleCategories)
		}
	}
	return nil
}

// unknownHost returns the placeholder for the unknown hosts of a vCenter and, unless it is nil, a cause.
func (r *reader) unknownHost(vcenter string, c *cause) *host {
	h := &host{VCenter: inventory.FirstEntry(r.states, vcenter), cause: c}
	key := [2]string{h.VCenter, " " + c.key()} // No ID begins with a space.
	if r.hostsByID[key] == nil {
		r.hostsByID[key] = h
		r.fleet.hosts = append(r.fleet.hosts, h)
	}
	return r.hostsByID[key]
}
