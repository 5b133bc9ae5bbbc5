package stack

import (
	"context"
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/test/cluster"
)

// A machine moves into a zone of its own, with the policy update. Pods that are created
// again are spread over three zones instead of two: by the old labels the two Nodes that
// were in one zone would share its Pods.
func TestPodsAreSpreadOverTheNewZones(t *testing.T) {
	if err := cluster.Wanted(cluster.Scheduler); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := startOwn(t, Options{Fleet: `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - name: dc
    clusters: [{name: c1, tags: {zone: a}, hosts: 1}, {name: c2, tags: {zone: b}, hosts: 1}, {name: c3, tags: {zone: c}, hosts: 1}]
    vms: [{name: n1, cluster: c1}, {name: n2, cluster: c1}, {name: n3, cluster: c2}]
`})
	config, err := s.WriteConfig("labels: {region: region, zone: zone}\ntopology: {drift: update, settle: 1s}\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Register(ctx, s.Fleet.Machines()...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StartDaemon(binary, config, "--tag-refresh=1s"); err != nil {
		t.Fatal(err)
	}
	if err := s.Cluster.StartScheduler(ctx); err != nil {
		t.Fatal(err)
	}
	zoned := func(want map[string]string) {
		t.Helper()
		if err := s.Watch(ctx, "the Nodes have their zones", func(nodes []*v1.Node) bool {
			is := map[string]string{}
			for _, n := range nodes {
				if Initialized(n) {
					is[n.Name] = n.Labels[v1.LabelTopologyZone]
				}
			}
			return maps.Equal(is, want)
		}); err != nil {
			t.Fatal(err)
		}
	}
	zoned(map[string]string{"n1": "a", "n2": "a", "n3": "b"})
	spread(t, ctx, s, map[string]int{"a": 3, "b": 3}, map[string]int{"n3": 3})
	if err := s.Fleet.VCenter("east").MoveVM("n2", "c3-host-1"); err != nil {
		t.Fatal(err)
	}
	zoned(map[string]string{"n1": "a", "n2": "c", "n3": "b"})
	spread(t, ctx, s, map[string]int{"a": 2, "b": 2, "c": 2}, map[string]int{"n1": 2, "n2": 2, "n3": 2})
}

// spread places six Pods and checks how many are in each zone and on some Nodes.
func spread(t *testing.T, ctx context.Context, s *Stack, zones, some map[string]int) {
	t.Helper()
	pods, err := s.SpreadPods(ctx, 6)
	if err != nil {
		t.Fatal(err)
	}
	is, err := s.PodsPerZone(ctx, pods)
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]int{}
	for _, p := range pods {
		if _, counts := some[p.Spec.NodeName]; counts {
			on[p.Spec.NodeName]++
		}
	}
	if !maps.Equal(is, zones) || !maps.Equal(on, some) {
		t.Errorf("Pods by zone %v and by Node %v, want %v and %v", is, on, zones, some)
	}
	if err := s.DeleteSpreadPods(ctx); err != nil {
		t.Fatal(err)
	}
}
