package main

import (
	"fmt"
	"strings"
	"time"

	"vzones/test/fleet"
)

// A benchCase is one measurement: by default the time from the start of a program until the last
// Node is initialized.
type benchCase struct {
	name, about string
	fleet       layout
	// breakVCenter breaks the last vCenter, whose Nodes are then not measured; nil if all are healthy.
	breakVCenter func(*fleet.VCenter)
	// joinAfter is the time between the start of a program and the creation of its Nodes, which
	// starts the measurement.
	joinAfter time.Duration
	// rest is the time at rest to measure instead of the start, 0 for the start.
	rest time.Duration
	// changes is the number of fillers changed per second at rest.
	changes int
}

func cases() []benchCase {
	three := layout{vcenters: 3, nodes: 300}
	const atRest = 2 * time.Minute
	return []benchCase{
		{name: "nodes-60", about: "60 Nodes on 3 vCenters", fleet: layout{vcenters: 3, nodes: 60}},
		{name: "nodes-300", about: "300 Nodes on 3 vCenters", fleet: three},
		{name: "nodes-300-beside-20000", about: "300 Nodes on 3 vCenters with 20,000 further VMs", fleet: layout{vcenters: 3, nodes: 300, fillers: 20000}},
		{name: "nodes-1000-vcenters-10", about: "1,000 Nodes on 10 vCenters", fleet: layout{vcenters: 10, nodes: 1000}},
		{name: "nodes-3000-vcenters-8", about: "3,000 Nodes on 8 vCenters", fleet: layout{vcenters: 8, nodes: 3000}},
		{name: "nodes-5000", about: "5,000 Nodes on 10 vCenters with 20,000 further VMs", fleet: layout{vcenters: 10, nodes: 5000, fillers: 20000}},
		{name: "hung", about: "the other vCenters' Nodes while one of three vCenters hangs", fleet: three, breakVCenter: (*fleet.VCenter).Hang},
		{
			name: "hung-join", about: "the other vCenters' Nodes join while one of three vCenters has hung from the start",
			fleet: three, breakVCenter: (*fleet.VCenter).Hang, joinAfter: 5 * time.Second,
		},
		{name: "refusing", about: "the other vCenters' Nodes while one of three vCenters refuses connections", fleet: three, breakVCenter: (*fleet.VCenter).Refuse},
		{name: "rest", about: "idle: nothing changes, and each Node's status is requested every 30 s", fleet: three, rest: atRest},
		{
			name: "rest-40000", about: "idle with 40,000 further VMs, of which 100 change each second",
			fleet: layout{vcenters: 3, nodes: 300, fillers: 40000}, rest: atRest, changes: 100,
		},
	}
}

// A layout is the size of a fleet. Each vCenter has two datacenters with two clusters of four
// hosts each. The region is a tag on the vCenter's root folder and the zone a tag on each cluster,
// so a vCenter has four zones.
type layout struct {
	vcenters int
	nodes    int // VMs of Nodes, spread over all clusters
	fillers  int // number of fillers, spread over all vCenters
}

const labels = "labels: {region: region, zone: zone}\n"

func (l layout) description() string {
	var b strings.Builder
	b.WriteString("vcenters:\n")
	for v := range l.vcenters {
		name := fmt.Sprintf("vc%02d", v+1)
		fmt.Fprintf(&b, "- name: %s\n  tags: {region: %s}\n  fillers: %d\n  datacenters:\n", name, name, share(l.fillers, l.vcenters, v))
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

// share returns share i of n nearly equal shares of total.
func share(total, n, i int) int { return total*(i+1)/n - total*i/n }

func zone(vcenter, cluster string) string { return vcenter + "-" + cluster }
