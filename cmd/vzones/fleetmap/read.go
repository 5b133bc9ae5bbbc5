package fleetmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/world"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// A reader makes a fleet of a World.
type reader struct {
	policy topology.Policy
	states []inventory.State
	fleet  *fleet
	known  map[[2]string]*host // by vCenter and ID, which repeat between vCenters
}

// read reads a fleet. The caller arranges it.
func read(ctx context.Context, w *world.World) *fleet {
	r := &reader{policy: w.Config.Topology.Policy, states: w.States, known: map[[2]string]*host{}}
	r.fleet = &fleet{Read: time.Now(), HasNodes: w.Client != nil}
	surveys := w.Survey(ctx, survey.Query{Categories: r.policy.Categories()})
	for i := range w.States {
		s, in := &w.States[i], &surveys[i]
		v := &vcenter{s.VCenter, vcenterMarks(s, in)}
		if inventory.FirstEntry(w.States, s.VCenter) == s.VCenter || len(v.Marks) > 0 {
			r.fleet.VCenters = append(r.fleet.VCenters, v)
		}
		within := in.Within(w.Config.VCenters[i].Datacenters)
		for _, o := range in.Objects {
			if o.Ref.Type == "HostSystem" && within(o) {
				r.host(o.Up(), in.Invisible, o.Host)
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

func vcenterMarks(s *inventory.State, in *survey.Survey) (marks []mark) {
	text := func(err error) string { // the vCenter is named beside it
		return strings.TrimPrefix(quote.Line(err.Error()), "vCenter "+quote.Value(s.VCenter)+": ")
	}
	switch {
	case s.Err != nil:
		return []mark{newMark(unread, text(s.Err))}
	case s.Snapshot == nil:
		return []mark{newMark(unread, "it did not answer in the time of --timeout")}
	}
	for _, err := range []error{s.Snapshot.Incomplete, in.Err, in.ObjectsErr} {
		if err != nil {
			marks = append(marks, newMark(incomplete, text(err)))
		}
	}
	for _, category := range in.Invisible {
		marks = append(marks, newMark(incomplete, "it shows no tag category "+quote.Value(category)+" to the account: "+
			"correct its name in the configuration, make the category, or give the account the role Read-only in the global permissions"))
	}
	return marks
}

// host returns the host at the beginning of a path, and adds it if it is new.
func (r *reader) host(up topology.Path, invisible []string, state survey.Host) *host {
	o := up.Objects[0]
	key := [2]string{inventory.FirstEntry(r.states, o.Ref.VCenter), o.Ref.ID}
	if h := r.known[key]; h != nil {
		return h
	}
	h := &host{VCenter: key[0], ID: key[1], Name: o.Name, Cluster: o.Path, Standalone: true}
	if i := slices.IndexFunc(up.Objects, func(o *topology.Object) bool { return o.Ref.Type == "ClusterComputeResource" }); i > 0 {
		h.Cluster, h.Standalone = up.Objects[i].Path, false
	}
	if state.Disconnected {
		h.Marks = append(h.Marks, newMark(disconnected, "it is not connected"))
	}
	if state.InMaintenance {
		h.Marks = append(h.Marks, newMark(maintenance, "it is in maintenance mode"))
	}
	policy := r.policy
	policy.Invisible = invisible
	h.resolve(policy, placement.Paths(r.states, o.Ref.VCenter, []topology.Path{up}))
	r.known[key], r.fleet.hosts = h, append(r.fleet.hosts, h)
	return h
}

// resolve gives a host the region and zone of the machines on it, as far as the host decides them.
func (h *host) resolve(policy topology.Policy, up []topology.Path) {
	policy, ok := policy.ForHosts()
	if !ok {
		return
	}
	policy.Rules, policy.Levels = policy.Rules.Optional(), policy.Levels.Optional() // one that lacks a value hides no other
	placed, err := topology.Resolve(policy, up)
	if err != nil { // no label is required, so there is no such error
		h.Marks = append(h.Marks, newMark(undecided, err.Error()))
		return
	}
	var missing, reasons []string
	own := placeOf(placed)
	for _, rule := range policy.Rules {
		name := map[string]string{topology.LabelRegion: "region", topology.LabelZone: "zone"}[rule.Label]
		if name == "" || !rule.FollowsFromHost() {
			continue
		}
		switch why := placed.WhyUndecided(rule.Label); {
		case errors.Is(why, topology.ErrNoCategory): // the vCenter has a mark that says so
		case why != nil:
			reasons = append(reasons, why.Error())
		case placed.Value(rule.Label) == "":
			missing = append(missing, "no "+name)
		case name == "region":
			h.Region, h.RegionBy = own.Region, own.RegionBy
		default:
			h.Zone, h.ZoneBy = own.Zone, own.ZoneBy
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
			p.Region, p.RegionBy = d.Value, d.Source()
		case topology.LabelZone:
			p.Zone, p.ZoneBy = d.Value, d.Source()
		}
	}
	return p
}

// node adds a Node, on the host of its machine.
func (r *reader) node(l *world.Look) {
	n := &node{Name: l.Node.Name, ControlPlane: l.IsControlPlane(), place: placeOf(l.Place.Placement)}
	r.fleet.nodes = append(r.fleet.nodes, n)
	m, why := l.Place.Machine, quote.Line(l.Text())
	lacks := func(label string) bool { return r.policy.IsRequired(label) && l.Place.Placement.Value(label) == "" }
	if m == nil || lacks(topology.LabelRegion) || lacks(topology.LabelZone) {
		n.Marks = []mark{newMark(unplaced, cmp.Or(why, "it is not known where it is"))}
		return
	}
	n.Machine = quote.Name(m.Ref.Located(m.InventoryPath))
	n.host = r.hostOf(m)
	for _, d := range l.Differences {
		if d.Missing {
			d.Have = ""
		}
		if d.Missing || d.IsCertain() {
			n.Marks = append(n.Marks, newMark(drift, differs(d.Label, d.Have, d.Want)))
		}
	}
	if l.Off || m.Power.IsOff() || m.WasOff {
		n.Marks = append(n.Marks, newMark(off, "its machine is off or suspended"))
	}
	switch {
	case l.Waits:
		n.Marks = append(n.Marks, newMark(waits, strings.TrimSuffix("it is not initialized: "+why, ": ")))
	case why != "":
		n.Marks = append(n.Marks, newMark(problem, why))
	}
}

// hostOf returns the host of a machine. If it is not known, then one host stands for that of all such machines.
func (r *reader) hostOf(m *inventory.Machine) *host {
	for _, p := range m.Paths {
		if p.Kind == topology.ComputePath && len(p.Objects) > 0 && p.Objects[0].Ref.Type == "HostSystem" {
			return r.host(p, inventory.StateOf(r.states, m.Ref.VCenter).Snapshot.InvisibleCategories, survey.Host{})
		}
	}
	key := [2]string{inventory.FirstEntry(r.states, m.Ref.VCenter)}
	if r.known[key] == nil {
		r.known[key] = &host{VCenter: key[0]}
		r.fleet.hosts = append(r.fleet.hosts, r.known[key])
	}
	return r.known[key]
}

// differs says how a label differs.
func differs(label, have, want string) string {
	shown := func(value string) string {
		if value == "" {
			return "missing"
		}
		return quote.Value(value)
	}
	return fmt.Sprintf("label %s is %s and should be %s", strings.TrimPrefix(label, "topology.kubernetes.io/"), shown(have), shown(want))
}
