package stack

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
)

// TestAJoiningNodeIsWrittenThreeTimes: a Node joins with exactly the framework's three writes (update, address patch and
// Event). This includes a Node that joins while others run, and labels in Kubernetes' and the operator's domains.
func TestAJoiningNodeIsWrittenThreeTimes(t *testing.T) {
	options, log := audited(t, namespace)
	s := start(t, Options{Cluster: options, Fleet: `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - {name: dc, tags: {zone: a, rack: r1, row: "1"}, clusters: [{name: c, hosts: 1}], vms: [{name: first}, {name: second}, {name: third}]}
`})
	config, err := s.WriteConfig(labels + `
topology:
  levels:
  - {label: topology.kubernetes.io/rack, tag: rack}
  - {label: example.com/row, tag: row}
`)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Fleet.VMs() {
		if err := s.Register(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		await(t, "a complete Node", func(ctx context.Context) (bool, error) {
			n, err := s.Client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
			return err == nil && n.Labels["topology.kubernetes.io/rack"] == "r1" && n.Annotations[nodeinfo.KeyLabels] == "example.com/row" && n.Annotations[nodeinfo.KeyVM] != "" &&
				slices.ContainsFunc(n.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == nodeinfo.TopologyReady && c.Status == v1.ConditionTrue }), err
		})
	}
	// A further write would occur within two seconds.
	time.Sleep(5 * time.Second)
	if _, err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	events := 0
	for _, r := range requests(t, log, 0) {
		switch {
		case !slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb):
		case r.ObjectRef.Resource == "nodes":
			got[r.ObjectRef.Name] = append(got[r.ObjectRef.Name], r.Verb+" "+r.ObjectRef.Subresource)
		case r.ObjectRef.Resource == "events" && r.ObjectRef.Namespace == v1.NamespaceDefault:
			events++
		}
	}
	want := []string{"update ", "patch status"}
	for _, m := range s.Fleet.VMs() {
		if !slices.Equal(got[m.Name], want) {
			t.Errorf("writes to Node %s: %q, want %q", m.Name, got[m.Name], want)
		}
	}
	if n := len(s.Fleet.VMs()); events != n {
		t.Errorf("%d Events about %d Nodes, want one for each", events, n)
	}
}
