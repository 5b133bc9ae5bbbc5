package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/test/fixture"
	"vzones/test/fleet/fleettest"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// Every kind of rule is read completely, and Open does not wait for data that the daemon does not read.
func TestOpenWaitsForNeededDataOnly(t *testing.T) {
	f := fleettest.Start(t, `
vcenters:
- name: east
  tags: {region: r}
  datacenters:
  - name: dc1
    tags: {zone: z}
    clusters: [{name: c1, hosts: [h1], hostGroups: [{name: site-a, hosts: [h1]}]}]
    vms: [{name: node-1, cluster: c1}]
`)
	if err := f.VCenter("east").SetFaultDomain("h1", "fd-1"); err != nil {
		t.Fatal(err)
	}
	for name, rules := range map[string]string{
		"nothing":       "",
		"tags":          "labels: {region: region, zone: zone}\n",
		"the host's":    "labels: {region: region, zone: zone}\ntopology: {paths: [compute]}\n",
		"names":         "labels: {region: {inventory: datacenter}, zone: {inventory: cluster}}\n",
		"host groups":   "labels: {region: {inventory: datacenter}, zone: {hostGroup: 'site-*'}}\n",
		"fault domains": "labels: {region: {inventory: datacenter}, zone: {inventory: vsanFaultDomain}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := fleettest.WriteConfig(t, f, t.TempDir())
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			connections, _, _ := strings.Cut(string(text), "labels:")
			if err := os.WriteFile(file, []byte(connections+rules), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // Far less than --timeout.
			defer cancel()
			nodes := fixture.ServeNodes(t, []v1.Node{waiting("node-1", "")})
			w, err := Open(ctx, &Flags{Config: file, Kubeconfig: nodes, Timeout: 10 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if l := w.Look(w.Nodes[0]); l.Err != nil {
				t.Errorf("the Node is placed: got the error %v, want none", l.Err)
			}
		})
	}
}

// A slow login is not a failure.
func TestASlowLoginIsWaitedFor(t *testing.T) {
	w := &World{fleetRun: fleetRun{fleet: vcenter.NewFleet(nil, nil, vcenter.Options{})}}
	for _, c := range []struct {
		err    error
		isRead bool
	}{
		{fmt.Errorf("vCenter east: %w", &vcenter.SlowLoginError{}), false},
		{errors.New("it refuses connections"), true},
	} {
		if got := w.isRead([]inventory.State{{VCenter: "east", Err: c.err}}, false); got != c.isRead {
			t.Errorf("a vCenter with the error %v: is read = %t, want %t", c.err, got, c.isRead)
		}
	}
}
