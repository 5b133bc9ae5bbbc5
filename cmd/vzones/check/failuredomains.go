package check

import (
	"fmt"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// failureDomains reports Nodes that fail together, and zones in which Kubernetes reacts to a failure without restraint.
func (f *facts) failureDomains() []Finding {
	return append(f.sharedHosts(), f.smallZones()...)
}

// sharedHosts reports hosts with several control-plane Nodes.
func (f *facts) sharedHosts() (found []Finding) {
	onHost := map[topology.Ref][]*node{}
	inCluster := map[topology.Ref][]*node{}
	for _, n := range f.nodes {
		host := n.Above(world.TypeHost)
		if host == nil || !n.IsControlPlane() {
			continue
		}
		onHost[host.Ref] = append(onHost[host.Ref], n)
		if cluster := n.Above(world.TypeCluster); cluster != nil {
			inCluster[cluster.Ref] = append(inCluster[cluster.Ref], n)
		}
	}
	for _, members := range onHost {
		if len(members) < 2 {
			continue
		}
		host := members[0].Above(world.TypeHost)
		var names []string
		for _, n := range members {
			names = append(names, n.name())
		}
		slices.Sort(names)
		finding := Finding{
			ID: "VZ177", VCenter: host.Ref.VCenter, Object: nameOf(host), Nodes: names,
			Text:   fmt.Sprintf("the VMs of %d control-plane Nodes run on it: %s", len(names), quote.Some(names, quote.Most)),
			Advice: "Move all but one of the VMs to other hosts.",
		}
		if cluster := members[0].Above(world.TypeCluster); cluster != nil {
			finding.Advice, finding.Command = f.separate(cluster, inCluster[cluster.Ref])
		}
		found = append(found, finding)
	}
	return found
}

// separate returns the remedy for Nodes whose VMs share a host of a cluster. An empty advice means the kind's advice.
func (f *facts) separate(cluster *topology.Object, nodes []*node) (advice, command string) {
	if s := f.vcenter(cluster.Ref.VCenter).surveyed(); s != nil && s.ObjectsErr == nil {
		hosts := 0
		for _, o := range s.Objects {
			if o.Ref.Type == world.TypeHost && o.Parent != nil && o.Parent.Ref == cluster.Ref {
				hosts++
			}
		}
		if hosts < len(nodes) {
			return fmt.Sprintf("Add hosts to the cluster, or move some of the VMs to another cluster: a rule that separates %s needs as many hosts.", cli.Count(len(nodes), "VM")), ""
		}
	}
	words := []string{"govc", "cluster.rule.create", "-cluster", cluster.Path, "-name", "control-plane", "-enable", "-anti-affinity"}
	var vms []string
	for _, n := range nodes {
		vms = append(vms, n.Place.VM.InventoryPath)
	}
	slices.Sort(vms)
	return "", cli.Shell(append(words, vms...)...)
}

// brakedFrom is the number of Nodes in the smallest zone whose eviction kube-controller-manager stops: with its defaults, at
// least three Nodes of the zone must be not ready while another is ready.
const brakedFrom = 4

// smallZones reports the zones that are too small for kube-controller-manager to stop evictions, if it does so in other zones
// of the cluster: then the failure of a network has different effects. In a cluster of small zones, that is so by design.
func (f *facts) smallZones() []Finding {
	zones := map[nodeinfo.Zone][]string{}
	for _, n := range f.allNodes {
		if zone := nodeinfo.ZoneOf(n.Node); zone != (nodeinfo.Zone{}) {
			zones[zone] = append(zones[zone], n.name())
		}
	}
	var small, names []string
	for zone, nodes := range zones {
		if len(nodes) < brakedFrom {
			small = append(small, fmt.Sprintf("%s has %s", zone, cli.Count(len(nodes), "Node")))
			names = append(names, nodes...)
		}
	}
	if len(small) == 0 || len(small) == len(zones) {
		return nil
	}
	slices.Sort(small)
	return []Finding{{ID: "VZ178", Object: cli.Count(len(small), "zone"), Nodes: names, Text: quote.Some(small, quote.Most)}}
}
