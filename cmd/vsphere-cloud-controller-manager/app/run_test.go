package app_test

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	framework "k8s.io/cloud-provider/app"
	"k8s.io/component-base/configz"
	basemetrics "k8s.io/component-base/metrics"

	"vzones/cmd/vsphere-cloud-controller-manager/app"
	"vzones/test/cluster"
	"vzones/test/stack"
)

const oneVM = `
vcenters:
- name: east
  datacenters:
  - {name: dc, tags: {zone: a}, clusters: [{name: c1, hosts: 1}], vms: [{name: node-1, cluster: c1}]}
`

// TestRun: New and Run start a daemon in this process. It gives a Node its zone. When its context is
// done, it returns no error and leaves no session.
func TestRun(t *testing.T) {
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	s, err := stack.Start(t.Context(), stack.Options{Fleet: oneVM})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := s.WriteConfig("labels: {zone: zone}\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context(), s.Fleet.VMs()...); err != nil {
		t.Fatal(err)
	}
	// configz is global, so another run of this test registers it again.
	t.Cleanup(func() { configz.Delete(framework.ConfigzName) })
	own := basemetrics.NewKubeRegistry()
	daemon := app.New([]string{
		"--cloud-config=" + config, "--kubeconfig=" + s.Kubeconfig, "--secure-port=0", "--leader-elect=true",
	}, app.Options{Metrics: own, KeepLogging: true})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- daemon.Run(ctx) }()
	zone := func(nodes []*v1.Node) bool {
		return slices.ContainsFunc(nodes, func(n *v1.Node) bool {
			return stack.Initialized(n) && n.Labels[v1.LabelTopologyZone] == "a"
		})
	}
	if err := s.Watch(ctx, "the Node has its zone", zone); err != nil {
		cancel()
		t.Fatalf("%v; the daemon: %v", err, <-ended)
	}
	families, err := own.Gather()
	if err != nil || len(families) == 0 {
		t.Errorf("the daemon's metrics are not in its registry: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	for _, v := range s.Fleet.VCenters() {
		if n := v.Sessions(); n != 0 {
			t.Errorf("vCenter %s: %d sessions are left", v.Name(), n)
		}
	}
}
