package main

import (
	"fmt"
	"strings"

	"vzones/test/fleet"
)

// A layout is a fleet in numbers. Each vCenter has two datacenters with two
// clusters of four hosts. The region is tagged on the vCenter's root folder and
// the zone on each cluster, so that a vCenter has four zones.
type layout struct {
	vcenters int
	nodes    int // machines of Nodes, spread over all clusters
	others   int // further machines, spread over all vCenters
	// bare are further machines of Nodes in each vCenter, in a cluster without
	// a zone: their Nodes cannot be initialized.
	bare int
	// racks has half of the hosts of each cluster carry a tag of rackCategory.
	racks bool
}

const (
	regionCategory = "region"
	zoneCategory   = "zone"
	rackCategory   = "rack"
	bareCluster    = "bare"
	bareDatacenter = "dc1"
	// home is a host with a zone, in the datacenter of the bare cluster.
	home = "dc1-c1-h1"
)

// labels is the section of the daemon's configuration for these fleets.
const labels = "labels:\n  region: " + regionCategory + "\n  zone: " + zoneCategory + "\n"

// levels is what a configuration has besides for three further levels: a tag that
// half of the hosts have, the host and the cluster.
const levels = "topology:\n  levels:\n" +
	"  - {label: example.com/rack, tag: " + rackCategory + "}\n" +
	"  - {label: example.com/host, inventory: host}\n" +
	"  - {label: example.com/cluster, inventory: cluster}\n"

// total is the number of Nodes.
func (l layout) total() int { return l.nodes + l.bare*l.vcenters }

// description is the fleet as fleet.Parse takes it.
func (l layout) description() string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	clusters := 4 * l.vcenters
	for v := range l.vcenters {
		name := fmt.Sprintf("vc%02d", v+1)
		fmt.Fprintf(&b, "- name: %s\n  tags: {%s: %s}\n  fillers: %d\n  datacenters:\n", name, regionCategory, name, share(l.others, l.vcenters, v))
		for d := range 2 {
			dc := fmt.Sprintf("dc%d", d+1)
			fmt.Fprintf(&b, "  - name: %s\n    clusters:\n", dc)
			var vms strings.Builder
			for c := range 2 {
				cluster := fmt.Sprintf("%s-c%d", dc, c+1)
				fmt.Fprintf(&b, "    - {name: %s, tags: {%s: %s}, hosts: %s}\n", cluster, zoneCategory, zone(name, cluster), l.hosts(cluster))
				if n := share(l.nodes, clusters, 4*v+2*d+c); n > 0 {
					fmt.Fprintf(&vms, "    - {name: %s-%s, count: %d, cluster: %[2]s}\n", name, cluster, n)
				}
			}
			if dc == bareDatacenter && l.bare > 0 {
				fmt.Fprintf(&b, "    - {name: %s, hosts: 1}\n", bareCluster)
				fmt.Fprintf(&vms, "    - {name: %s-%s, count: %d, cluster: %[2]s}\n", name, bareCluster, l.bare)
			}
			if vms.Len() > 0 {
				b.WriteString("    vms:\n" + vms.String())
			}
		}
	}
	return b.String()
}

// hosts are those of a cluster.
func (l layout) hosts(cluster string) string {
	all := make([]string, 4)
	for i := range all {
		all[i] = fmt.Sprintf("%s-h%d", cluster, i+1)
		if l.racks && i%2 == 0 {
			all[i] = fmt.Sprintf("{name: %s, tags: {%s: %[1]s}}", all[i], rackCategory)
		}
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// share is the i-th of n shares of a total, as equal as they can be.
func share(total, n, i int) int { return total*(i+1)/n - total*i/n }

// zone is the tag of a cluster.
func zone(vcenter, cluster string) string { return vcenter + "-" + cluster }

// withZone returns the machines that have a zone.
func withZone(machines []fleet.Machine) []fleet.Machine { return cut(machines, false) }

// withoutZone returns the machines that have none.
func withoutZone(machines []fleet.Machine) []fleet.Machine { return cut(machines, true) }

func cut(machines []fleet.Machine, bare bool) []fleet.Machine {
	var some []fleet.Machine
	for _, m := range machines {
		if (m.Cluster == bareCluster) == bare {
			some = append(some, m)
		}
	}
	return some
}
