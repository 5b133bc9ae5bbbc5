package main

import (
	"fmt"
	"strings"
	"time"

	"vzones/test/fleet"
)

// A benchCase is one thing to measure: by default the time from the start of a program until the
// last Node is initialized.
type benchCase struct {
	name, about string
	fleet       layout
	// sick is what is wrong with the last vCenter, nil if nothing is. The Nodes of the others count.
	sick func(*fleet.VCenter)
	// joinAfter is how long a program runs before its Nodes come, from when on it is measured.
	joinAfter time.Duration
	// rest is how long a program is watched while no Node changes, in place of its start.
	rest time.Duration
	// changes is how many of the further machines change in each second of the rest.
	changes int
}

// cases are all cases in the order of the table. The goals are in the design, "What it must cost".
func cases() []benchCase {
	three := layout{vcenters: 3, nodes: 300}
	const atRest = 2 * time.Minute
	return []benchCase{
		{name: "nodes-60", about: "60 Nodes on 3 vCenters", fleet: layout{vcenters: 3, nodes: 60}},
		{name: "nodes-300", about: "300 Nodes on 3 vCenters", fleet: three},
		{name: "nodes-300-beside-20000", about: "300 Nodes on 3 vCenters with 20,000 further machines", fleet: layout{vcenters: 3, nodes: 300, others: 20000}},
		{name: "nodes-1000-vcenters-10", about: "1,000 Nodes on 10 vCenters", fleet: layout{vcenters: 10, nodes: 1000}},
		{name: "nodes-3000-vcenters-8", about: "3,000 Nodes on 8 vCenters", fleet: layout{vcenters: 8, nodes: 3000}},
		{name: "nodes-5000", about: "5,000 Nodes on 10 vCenters with 20,000 further machines", fleet: layout{vcenters: 10, nodes: 5000, others: 20000}},
		{name: "hung", about: "the Nodes of the others while one of three vCenters hangs", fleet: three, sick: (*fleet.VCenter).Hang},
		{
			name: "hung-join", about: "Nodes of the others join while one of three vCenters has hung from the start",
			fleet: three, sick: (*fleet.VCenter).Hang, joinAfter: 5 * time.Second,
		},
		{name: "refusing", about: "the Nodes of the others while one of three vCenters refuses connections", fleet: three, sick: (*fleet.VCenter).Refuse},
		{name: "rest", about: "nothing changes; the status of each Node is asked for every 30 s", fleet: three, rest: atRest},
		{
			name: "rest-40000", about: "the same beside 40,000 further machines, of which 100 change each second",
			fleet: layout{vcenters: 3, nodes: 300, others: 40000}, rest: atRest, changes: 100,
		},
	}
}

// A layout is a fleet in numbers. Each vCenter has two datacenters with two
// clusters of four hosts. The region is tagged on the vCenter's root folder and
// the zone on each cluster, so that a vCenter has four zones.
type layout struct {
	vcenters int
	nodes    int // machines of Nodes, spread over all clusters
	others   int // further machines, spread over all vCenters
}

// labels is the section of the daemon's configuration for these fleets.
const labels = "labels: {region: region, zone: zone}\n"

// description is the fleet as fleet.Parse takes it.
func (l layout) description() string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for v := range l.vcenters {
		name := fmt.Sprintf("vc%02d", v+1)
		fmt.Fprintf(&b, "- name: %s\n  tags: {region: %s}\n  fillers: %d\n  datacenters:\n", name, name, share(l.others, l.vcenters, v))
		for d := range 2 {
			var clusters, vms []string
			for c := range 2 {
				cluster := fmt.Sprintf("dc%d-c%d", d+1, c+1)
				clusters = append(clusters, fmt.Sprintf("{name: %s, tags: {zone: %s}, hosts: 4}", cluster, zone(name, cluster)))
				if n := share(l.nodes, 4*l.vcenters, 4*v+2*d+c); n > 0 {
					vms = append(vms, fmt.Sprintf("{name: %s-%s, count: %d, cluster: %[2]s}", name, cluster, n))
				}
			}
			fmt.Fprintf(&b, "  - name: dc%d\n    clusters: [%s]\n    vms: [%s]\n", d+1, strings.Join(clusters, ", "), strings.Join(vms, ", "))
		}
	}
	return b.String()
}

// share is the i-th of n shares of a total, as equal as they can be.
func share(total, n, i int) int { return total*(i+1)/n - total*i/n }

// zone is the tag of a cluster.
func zone(vcenter, cluster string) string { return vcenter + "-" + cluster }
