package explain_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/explain"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/test/nodelist"
)

const (
	vcenters, nodesEach = 3, 300
	// mostRequests is what each vCenter may be asked, whatever the number of Nodes.
	mostRequests = 40
)

// TestRequests: one Node of many is explained with few requests. make bench-tool says how soon.
func TestRequests(t *testing.T) {
	f := manyVCenters(t)
	t.Setenv("KUBECONFIG", nodelist.Serve(t, nodesOf(f)))
	config := fleettest.WriteConfig(t, f, t.TempDir())
	for _, v := range f.VCenters() {
		v.ResetRequests()
	}
	var out, errs bytes.Buffer
	tool := &cli.Tool{Stdout: &out, Stderr: &errs}
	cmd := explain.Command(tool)
	cmd.SetArgs([]string{"v2-node-0123", "-c", config})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	if !strings.Contains(out.String(), "/dc/vm/v2-node-0123") || !strings.Contains(out.String(), "Nothing is wrong with the Node") {
		t.Errorf("it printed\n%s", out.String())
	}
	for _, v := range f.VCenters() {
		n := v.Total() - max(v.Requests()["WaitForUpdatesEx"]-1, 0) // how many pages there are depends on the machine's speed
		if n > mostRequests || n == 0 {
			t.Errorf("vCenter %s had %d requests: %v", v.Name(), n, v.Requests())
		}
	}
}

func manyVCenters(t *testing.T) *fleet.Fleet {
	t.Helper()
	description := "vcenters:\n"
	for i := range vcenters {
		description += fmt.Sprintf(`- name: v%d
  datacenters:
  - name: dc
    tags: {region: r%d}
    clusters:
    - {name: c, hosts: 20, tags: {zone: z%d}}
    vms:
    - {name: v%d-node, count: %d, cluster: c}
`, i, i, i, i, nodesEach)
	}
	return fleettest.Start(t, description)
}

// nodesOf returns an initialized Node for each machine.
func nodesOf(f *fleet.Fleet) []v1.Node {
	var all []v1.Node
	for _, m := range f.Machines() {
		i := m.Name[1:2]
		n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: types.UID("uid-" + m.Name), Labels: map[string]string{
			v1.LabelTopologyRegion: "r" + i, v1.LabelTopologyZone: "z" + i,
			v1.LabelFailureDomainBetaRegion: "r" + i, v1.LabelFailureDomainBetaZone: "z" + i,
			v1.LabelInstanceTypeStable: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu", v1.LabelInstanceType: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu",
		}}}
		n.Spec.ProviderID = "vsphere://" + m.UUID
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
		all = append(all, n)
	}
	return all
}
