// Package fleetmaptest has fleets for the tests of the map.
package fleetmaptest

import (
	"fmt"

	"vzones/cmd/vzones/fleetmap/model"
	"vzones/topology"
)

// A builder puts facts together.
type builder struct{ model.Facts }

// hosts adds the hosts of a cluster, with managed object IDs that begin with the cluster's name.
func (b *builder) hosts(vcenter, cluster string, n int, region, zone string) {
	for i := range n {
		h := model.HostFacts{
			HostKey: model.HostKey{VCenter: vcenter, ID: fmt.Sprintf("%s-%d", cluster, i+1)}, Name: fmt.Sprintf("esx-%s-%02d", cluster, i+1),
			Datacenter: "/dc-1", Cluster: "/dc-1/host/" + cluster, Region: region, Zone: zone,
		}
		if zone == "" {
			h.Missing = []string{"zone"}
		}
		b.Hosts = append(b.Hosts, h)
	}
}

// node adds a Node on a host that was added.
func (b *builder) node(name, host string, controlPlane bool) *model.NodeFacts {
	for _, h := range b.Hosts {
		if h.ID == host {
			b.Nodes = append(b.Nodes, model.NodeFacts{
				Name: name, ControlPlane: controlPlane, Host: h.HostKey, Machine: "/dc-1/vm/" + name, Region: h.Region, Zone: h.Zone,
			})
			return &b.Nodes[len(b.Nodes)-1]
		}
	}
	panic("no host " + host)
}

// Example returns a small fleet in which there is one of most things that are marked.
func Example() *model.Facts {
	b := &builder{model.Facts{Cluster: true, Foreign: 1}}
	b.VCenters = []model.VCenterFacts{{Name: "paris"}, {Name: "milan"}, {Name: "porto", Unread: "the login was rejected: correct the password"}}
	b.hosts("paris", "p1", 4, "paris", "paris-1")
	b.hosts("paris", "p2", 3, "paris", "paris-2")
	b.hosts("paris", "p3", 3, "paris", "")
	b.hosts("milan", "m1", 3, "milan", "milan-1")
	b.hosts("milan", "m2", 3, "milan", "milan-2")
	b.Hosts = append(b.Hosts, model.HostFacts{
		HostKey: model.HostKey{VCenter: "milan", ID: "edge"}, Name: "esx-edge", Datacenter: "/dc-2", Cluster: "/dc-2/host/esx-edge", Standalone: true,
		Undecided: "the tags of folder /dc-2/host cannot be read",
	})
	b.Hosts[3].InMaintenance = true
	b.Hosts[6].Disconnected = true
	b.node("control-1", "p1-1", true)
	b.node("control-2", "p1-1", true)
	b.node("control-3", "m1-1", true)
	for i, host := range []string{"p1-1", "p1-2", "p1-2", "p1-3", "p2-1", "m1-1", "m1-2", "m1-3", "m2-1", "m2-2", "m2-3", "m2-3"} {
		b.node(fmt.Sprintf("worker-%02d", i+1), host, false)
	}
	moved := b.node("worker-13", "m2-1", false)
	moved.Drifts = []model.Difference{{Label: topology.LabelZone, Have: "milan-1", Want: "milan-2"}}
	b.node("worker-14", "m2-2", false).Waits = "it waits to be initialized"
	b.Nodes = append(b.Nodes, model.NodeFacts{Name: "worker-15", Unplaced: `vCenter "porto" has the machine, and cannot be read`})
	elsewhere := b.node("worker-16", "m2-3", false)
	elsewhere.Zone = "milan-3"
	return &b.Facts
}

// Large returns a fleet of so many vCenters and Nodes, with three zones and twelve clusters in each
// vCenter, and about three Nodes on a host.
func Large(vcenters, nodes int) *model.Facts {
	b := &builder{model.Facts{Cluster: true}}
	each := nodes / vcenters
	for v := range vcenters {
		name := fmt.Sprintf("vc-%02d", v)
		b.VCenters = append(b.VCenters, model.VCenterFacts{Name: name})
		first := len(b.Hosts)
		for c := range 12 {
			b.hosts(name, fmt.Sprintf("%s-c%02d", name, c), max(each/36, 1), "region-"+name, fmt.Sprintf("zone-%s-%d", name, c%3))
		}
		here := b.Hosts[first:]
		for i := range each {
			h := &here[i%len(here)]
			n := model.NodeFacts{
				Name: fmt.Sprintf("node-%s-%04d", name, i), ControlPlane: i < 3, Host: h.HostKey, Machine: "/dc-1/vm/node",
				Region: h.Region, Zone: h.Zone,
			}
			if i%50 == 7 {
				n.Drifts = []model.Difference{{Label: topology.LabelZone, Have: "elsewhere", Want: h.Zone}}
			}
			b.Nodes = append(b.Nodes, n)
		}
	}
	return &b.Facts
}

// Evil is a name that tries to break out of each form of the map, and to change the terminal.
const Evil = "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload=\"alert(1)\x1b[31m\x1b]0;title\a\r\n\u202e]]>&lt;{{.}}\x00\xff"

// Hostile returns a fleet in which each name is Evil.
func Hostile() *model.Facts {
	key := model.HostKey{VCenter: Evil, ID: Evil}
	return &model.Facts{
		Cluster:  true,
		VCenters: []model.VCenterFacts{{Name: Evil, Unread: Evil, Incomplete: []string{Evil}}},
		Hosts: []model.HostFacts{
			{HostKey: key, Name: Evil, Datacenter: Evil, Cluster: Evil, Region: Evil, Zone: Evil, Undecided: Evil},
			{HostKey: model.HostKey{VCenter: Evil, ID: "2"}, Name: Evil, Cluster: Evil + "2", Standalone: true, Missing: []string{"zone"}},
		},
		Nodes: []model.NodeFacts{
			{Name: Evil, ControlPlane: true, Host: key, Machine: Evil, Region: Evil, Zone: Evil, Drifts: []model.Difference{{Label: Evil, Have: Evil, Want: Evil}}},
			{Name: Evil + "2", ControlPlane: true, Host: key, Region: Evil, Zone: Evil + "3"},
			{Name: Evil + "3", Unplaced: Evil},
		},
	}
}
