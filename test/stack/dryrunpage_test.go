package stack

import (
	"regexp"
	"testing"

	v1 "k8s.io/api/core/v1"

	"vzones/test/cluster"
	"vzones/test/page"
)

const dryRunPage = "docs/how-to/dry-run.md"

// ofDryRuns are what differs from run to run: the vCenter's UUID, and if the dry run takes long, the
// Nodes' conditions and the Event of the Node without a machine, which widens a column.
var ofDryRuns = []page.Difference{
	{Pattern: regexp.MustCompile(`(annotation vzones/vcenter +- +)[0-9a-f-]{36}`), Instead: "${1}UUID"},
	{Pattern: regexp.MustCompile(`would change: [23];`), Instead: "would change: 2;"},
	{Pattern: regexp.MustCompile(`(?m)^node-\d  condition .*\n`), Instead: ""},
	{Pattern: regexp.MustCompile(`(?m)^Node node-3 .*\n`), Instead: ""},
	{Pattern: regexp.MustCompile(`(?m)^(OBJECT|Node node-2) +(EVENT|TopologyDrift) +`), Instead: "${1}  ${2}  "},
}

// TestDryRunIsDocumented: the how-to shows what a dry run prints of a Node that lacks its zone, one in
// another zone, and one without a machine.
func TestDryRunIsDocumented(t *testing.T) {
	s := start(t, `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - {name: dc, clusters: [{name: a, tags: {zone: za}, hosts: 1}], vms: [{name: node-1}, {name: node-2}]}
`)
	config, err := s.WriteConfig("labels: {region: region, zone: zone}\ntopology: {drift: taint}\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Fleet.Machines() {
		n := cluster.NodeSpec{Name: m.Name, SystemUUID: m.UUID, ProviderID: m.ProviderID()}.Node()
		n.Spec.Taints = nil
		n.Labels[v1.LabelTopologyRegion], n.Labels[v1.LabelFailureDomainBetaRegion] = "east", "east"
		if m.Name == "node-2" {
			n.Labels[v1.LabelTopologyZone], n.Labels[v1.LabelFailureDomainBetaZone] = "zb", "zb"
		}
		n.Labels[v1.LabelInstanceType], n.Labels[v1.LabelInstanceTypeStable] = "vsphere-vm.cpu-4.mem-8gb.os-ubuntu", "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"
		n.Status.Addresses = []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: m.HostName}, {Type: v1.NodeInternalIP, Address: m.IPs[0]}, {Type: v1.NodeExternalIP, Address: m.IPs[0]},
		}
		if _, err := s.Cluster.CreateNode(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	lost := cluster.NodeSpec{Name: "node-3", SystemUUID: "422e4956-22ad-3911-6d72-59cc8f26bc90"}
	if err := s.Cluster.CreateNodes(t.Context(), []cluster.NodeSpec{lost}); err != nil {
		t.Fatal(err)
	}
	printed, err := s.DryRun(binary, config)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	// The log comes before it.
	page.Shows(t, dryRunPage, "…\n"+page.Outputs(t, dryRunPage, "Read the result")[0], printed, ofDryRuns...)
}
