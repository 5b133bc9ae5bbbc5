package fleetmap

import (
	"errors"
	"slices"
	"strings"

	"vzones/cmd/vzones/fleetmap/model"
	"vzones/cmd/vzones/internal/survey"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// hosts collects the hosts of all vCenters.
type hosts struct {
	policy topology.Policy
	states []inventory.State
	facts  *model.Facts
	known  map[model.HostKey]bool
}

// survey adds the hosts of an entry of a vCenter that are in the datacenters of the entry.
func (h *hosts) survey(s *survey.Survey, datacenters []string) {
	within := s.Within(datacenters)
	for _, o := range s.Objects {
		if o.Ref.Type != "HostSystem" || !within(o) {
			continue
		}
		h.add(o.Up(), o.StateErr == nil && !o.Connected, o.InMaintenance, s.Invisible)
	}
}

// machine adds the host of a machine, if the survey of its vCenter has not shown it.
func (h *hosts) machine(m *inventory.Machine) {
	if p := computePath(m); len(p.Objects) > 0 {
		h.add(p, false, false, inventory.StateOf(h.states, m.Ref.VCenter).Snapshot.InvisibleCategories)
	}
}

// computePath is the way upwards from a machine's host, which is first on it.
func computePath(m *inventory.Machine) topology.Path {
	i := slices.IndexFunc(m.Paths, func(p topology.Path) bool { return p.Kind == topology.ComputePath })
	if i < 0 || len(m.Paths[i].Objects) == 0 || m.Paths[i].Objects[0].Ref.Type != "HostSystem" {
		return topology.Path{}
	}
	return m.Paths[i]
}

// key names a host, by the first entry of its vCenter.
func (h *hosts) key(ref topology.Ref) model.HostKey {
	return model.HostKey{VCenter: inventory.FirstEntry(h.states, ref.VCenter), ID: ref.ID}
}

// add adds the host at the beginning of a path.
func (h *hosts) add(p topology.Path, disconnected, maintenance bool, invisible []string) {
	o := p.Objects[0]
	key := h.key(o.Ref)
	if h.known[key] {
		return
	}
	h.known[key] = true
	f := model.HostFacts{HostKey: key, Name: o.Name, Cluster: o.Path, Standalone: true, Disconnected: disconnected, InMaintenance: maintenance}
	for _, above := range p.Objects[1:] {
		switch {
		case above.Ref.Type == "ClusterComputeResource" && f.Standalone:
			f.Cluster, f.Standalone = above.Path, false
		case above.Ref.Type == "Datacenter" && f.Datacenter == "":
			f.Datacenter = above.Path
		}
	}
	policy := h.policy
	policy.Invisible = invisible
	placeHost(&f, policy, placement.Paths(h.states, o.Ref.VCenter, []topology.Path{p}))
	h.facts.Hosts = append(h.facts.Hosts, f)
}

// placeHost says in which region and zone the machines on a host are, as far as the host decides that.
func placeHost(f *model.HostFacts, policy topology.Policy, up []topology.Path) {
	policy, ok := policy.ForHosts()
	if !ok {
		return
	}
	policy.Rules, policy.Levels = policy.Rules.Optional(), policy.Levels.Optional() // what a host lacks is shown, and hides nothing else
	placed, err := topology.Resolve(policy, up)
	if err != nil {
		f.Undecided = err.Error() // no label is required, so there is no such error
		return
	}
	var reasons []string
	for _, label := range []struct{ key, name string }{{topology.LabelRegion, "region"}, {topology.LabelZone, "zone"}} {
		i := slices.IndexFunc(policy.Rules, func(r topology.Rule) bool { return r.Label == label.key })
		if i < 0 || !policy.Rules[i].FollowsFromHost() {
			continue
		}
		value, why := placed.Value(label.key), placed.WhyUndecided(label.key)
		switch {
		case errors.Is(why, topology.ErrNoCategory):
			reasons = append(reasons[:0], noCategory)
		case why != nil:
			if text := why.Error(); !slices.Contains(reasons, text) {
				reasons = append(reasons, text)
			}
		case value == "":
			f.Missing = append(f.Missing, label.name)
		case label.key == topology.LabelRegion:
			f.Region = value
		default:
			f.Zone = value
		}
	}
	f.Undecided = strings.Join(reasons, "; ")
}

// noCategory stands for a reason that is the same for all hosts of a vCenter, and given there.
const noCategory = "its vCenter shows no such tag category"
