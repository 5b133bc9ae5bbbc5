package fleetmap

import (
	"context"

	"vzones/cmd/vzones/fleetmap/model"
	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/world"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// readFacts reads what the map is made of.
func readFacts(ctx context.Context, w *world.World) *model.Facts {
	policy := w.Config.Topology.Policy
	f := &model.Facts{Cluster: w.Client != nil}
	h := &hosts{policy: policy, states: w.States, facts: f, known: map[model.HostKey]bool{}}
	surveys := w.Survey(ctx, survey.Query{Categories: policy.Categories()})
	for i := range w.States {
		s := &w.States[i]
		entry := vcenterFacts(s, &surveys[i])
		if inventory.FirstEntry(w.States, s.VCenter) == s.VCenter || entry.Unread != "" || len(entry.Incomplete) > 0 {
			f.VCenters = append(f.VCenters, entry)
		}
		h.survey(&surveys[i], w.Config.VCenters[i].Datacenters)
	}
	for _, n := range w.Nodes {
		l := w.Look(n)
		if l.Foreign {
			f.Foreign++
			continue
		}
		if m := l.Place.Machine; m != nil {
			h.machine(m)
		}
		f.Nodes = append(f.Nodes, nodeFacts(l, h))
	}
	return f
}

// vcenterFacts says whether a vCenter was read.
func vcenterFacts(s *inventory.State, in *survey.Survey) model.VCenterFacts {
	f := model.VCenterFacts{Name: s.VCenter}
	switch {
	case s.Err != nil:
		f.Unread = quote.Line(s.Err.Error())
		return f
	case s.Snapshot == nil:
		f.Unread = "it did not answer in the time of --timeout"
		return f
	}
	for _, err := range []error{s.Snapshot.Incomplete, in.Err, in.ObjectsErr} {
		if err != nil {
			f.Incomplete = append(f.Incomplete, quote.Line(err.Error()))
		}
	}
	for _, category := range in.Invisible {
		f.Incomplete = append(f.Incomplete, "it shows no tag category "+quote.Value(category)+
			" to the account: correct its name in the configuration, make the category, or give the account the role Read-only in the global permissions")
	}
	return f
}

// controlPlane is the label of the Nodes of the control plane, as kubeadm and others set it.
const controlPlane = "node-role.kubernetes.io/control-plane"

// nodeFacts says what is known of a Node.
func nodeFacts(l *world.Look, h *hosts) model.NodeFacts {
	_, master := l.Node.Labels[controlPlane]
	placed := &l.Place.Placement
	f := model.NodeFacts{
		Name: l.Node.Name, ControlPlane: master, Host: model.HostKey{VCenter: l.Place.VCenter},
		Region: placed.Value(topology.LabelRegion), Zone: placed.Value(topology.LabelZone),
	}
	why := quote.Line(l.Text())
	m := l.Place.Machine
	if m != nil {
		f.Machine = m.InventoryPath
		f.Host = h.key(m.Ref)
		f.Host.ID = ""
		if p := computePath(m); len(p.Objects) > 0 {
			f.Host = h.key(p.Objects[0].Ref)
		}
	}
	switch {
	case m == nil || withoutPlace(&h.policy, placed):
		f.Unplaced, f.Region, f.Zone = why, "", ""
		if why == "" {
			f.Unplaced = "it is not known where it is"
		}
	case l.Waits && why == "":
		f.Waits = "it is not initialized yet"
	case l.Waits:
		f.Waits = "it is not initialized: " + why
	default:
		f.Problem = why
	}
	for _, d := range l.Differences {
		if d.Missing || d.IsCertain() {
			f.Drifts = append(f.Drifts, model.Difference{Label: d.Label, Have: d.Have, Want: d.Want})
		}
	}
	return f
}

// withoutPlace reports whether a placement does not have what is required of region and zone.
func withoutPlace(policy *topology.Policy, placed *topology.Placement) bool {
	for _, label := range []string{topology.LabelRegion, topology.LabelZone} {
		if policy.IsRequired(label) && placed.Value(label) == "" {
			return true
		}
	}
	return false
}
