package fleetmap_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/fleetmap"
	"vzones/test/fleet"
	"vzones/test/fleet/fleettest"
	"vzones/test/nodelist"
)

// largeFleet describes vCenters of three zones with 12 clusters, 12 hosts in each, and machines.
func largeFleet(vcenters, machines int) *fleet.Spec {
	spec := &fleet.Spec{}
	for v := range vcenters {
		dc := fleet.DatacenterSpec{Name: "dc1", Tags: fleet.Tags{"region": {fmt.Sprintf("region-%d", v)}}}
		for c := range 12 {
			name := fmt.Sprintf("c%02d", c)
			dc.Clusters = append(dc.Clusters, fleet.ClusterSpec{Name: name, Hosts: make(fleet.Hosts, 12), Tags: fleet.Tags{"zone": {fmt.Sprintf("zone-%d-%d", v, c%3)}}})
			dc.VMs = append(dc.VMs, fleet.VMSpec{Name: fmt.Sprintf("node-%d-%s-", v, name), Cluster: name, Count: machines / 12})
		}
		spec.VCenters = append(spec.VCenters, fleet.VCenterSpec{Name: fmt.Sprintf("vc%d", v), Datacenters: []fleet.DatacenterSpec{dc}})
	}
	return spec
}

// nodesOf returns a Node for each machine.
func nodesOf(f *fleet.Fleet) []v1.Node {
	var all []v1.Node
	for _, m := range f.Machines() {
		n := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: types.UID(m.UUID)}}
		n.Spec.ProviderID = m.ProviderID()
		n.Status.NodeInfo.SystemUUID = m.UUID
		all = append(all, n)
	}
	return all
}

// budget is how many requests the command may send to each vCenter, but for the pages of what it reports.
const budget = 40

// TestRequests: a fleet is read and drawn with few requests.
func TestRequests(t *testing.T) {
	const vcenters, machines = 2, 120
	f, err := fleet.Start(t.Context(), largeFleet(vcenters, machines))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	config, kubeconfig := fleettest.WriteConfig(t, f, t.TempDir()), nodelist.Serve(t, nodesOf(f))
	klog.SetLogger(klog.Logger{}) // as main does
	t.Cleanup(klog.ClearLogger)
	for _, format := range []string{"html", "tree"} {
		for _, v := range f.VCenters() {
			v.ResetRequests()
		}
		var out bytes.Buffer
		cmd := fleetmap.Command(&cli.Tool{Stdout: &out, Stderr: t.Output()})
		cmd.SetArgs([]string{"-c", config, "--kubeconfig", kubeconfig, "-o", format, "--timeout", "5m"})
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		for _, v := range f.VCenters() {
			pages := v.Requests()["WaitForUpdatesEx"]
			if n := v.Total() - max(pages-1, 0); n > budget || pages == 0 {
				t.Errorf("%s: vCenter %s had %d requests: %v", format, v.Name(), n, v.Requests())
			}
		}
		if want := "2 vCenters, 2 regions, 6 zones, 24 clusters, 288 hosts, 240 Nodes"; !strings.Contains(out.String(), want) {
			t.Errorf("%s: the map does not have %s", format, want)
		}
	}
}
