package stack

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
)

const shutdownTaint = "node.cloudprovider.kubernetes.io/shutdown"

const pair = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - {name: dc, tags: {zone: a}, clusters: [{name: c, hosts: 1}], vms: [{name: off}, {name: gone}, {name: stays}, {name: silent, hostname: "", nics: []}]}
- name: west
  tags: {region: west}
  datacenters:
  - {name: dc, tags: {zone: b}, clusters: [{name: c, hosts: 1}], vms: [{name: other}]}
`

// TestLifecycle: a machine that is off is marked, one that is gone loses its
// Node, but only once every vCenter has said so, and a foreign Node is not
// touched at all.
func TestLifecycle(t *testing.T) {
	s := start(t, pair)
	ctx := t.Context()
	foreign := cluster.NodeSpec{Name: "foreign", ProviderID: "aws:///eu-west-1a/i-0abc", SystemUUID: "ec2f0000-0000-4000-8000-000000000001"}
	bare := cluster.NodeSpec{Name: "bare", SystemUUID: "11111111-2222-4333-8444-555555555555"}
	if err := s.Register(ctx, s.Fleet.Machines()...); err != nil {
		t.Fatal(err)
	}
	if err := s.Cluster.CreateNodes(ctx, []cluster.NodeSpec{foreign, bare}); err != nil {
		t.Fatal(err)
	}
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config, "--node-monitor-period=1s", "--absence-hold=1s")
	if err != nil {
		t.Fatal(err)
	}
	east := s.Fleet.VCenter("east")
	var ours []string
	for _, name := range []string{"off", "gone", "stays", "other"} {
		m, err := s.Fleet.Machine(name)
		if err != nil {
			t.Fatal(err)
		}
		initialized(t, s, d, append(east.Machines()[:0:0], m))
		ours = append(ours, name)
	}

	// All kubelets fall silent while west hangs: nothing may be deleted, though
	// one machine is gone.
	s.Fleet.VCenter("west").Hang()
	if err := east.Destroy("gone"); err != nil {
		t.Fatal(err)
	}
	if err := east.PowerOff("off"); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(ours, "foreign", "bare") {
		if err := s.Cluster.SetNodeReady(ctx, name, v1.ConditionUnknown); err != nil {
			t.Fatal(err)
		}
	}
	s.node(t, d, "off", "is marked as shut down", func(n *v1.Node) bool { return n != nil && tainted(n) })
	for _, name := range append(ours, "foreign", "bare") {
		if _, err := s.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			t.Errorf("while one vCenter hangs: %v", err)
		}
	}
	if err := s.Fleet.VCenter("west").Recover(); err != nil {
		t.Fatal(err)
	}
	s.node(t, d, "gone", "is deleted", func(n *v1.Node) bool { return n == nil })

	nodes, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 6 { // off, stays, other, silent, foreign, bare
		t.Errorf("%d Nodes are left", len(nodes.Items))
	}
	for _, n := range nodes.Items {
		switch n.Name {
		case "foreign", "bare":
			if Initialized(&n) || n.Labels[v1.LabelTopologyZone] != "" || n.Spec.ProviderID == "vsphere://"+bare.SystemUUID || tainted(&n) {
				t.Errorf("Node %s was touched: %+v %v", n.Name, n.Spec, n.Labels)
			}
		case "silent":
			if Initialized(&n) {
				t.Error("a Node without an address was initialized")
			}
		case "stays", "other":
			if tainted(&n) {
				t.Errorf("Node %s is marked as shut down", n.Name)
			}
		}
	}
}

// TestEventsSayWhatANodeWaitsFor: once, and not for Nodes that need not wait.
func TestEventsSayWhatANodeWaitsFor(t *testing.T) {
	s := start(t, pair)
	if err := s.Fleet.VCenter("west").Untag("dc", "zone", "b"); err != nil {
		t.Fatal(err)
	}
	if err := s.Register(t.Context(), s.Fleet.Machines()...); err != nil {
		t.Fatal(err)
	}
	config, err := s.WriteConfig(labels)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"silent": "AddressMissing", "other": "TopologyMissing"}
	deadline, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		got := map[string]string{}
		events, err := s.Client.CoreV1().Events("default").List(deadline, metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.kind=Node"})
		if err != nil {
			t.Fatalf("%v\n%s", err, d.Log())
		}
		for _, e := range events.Items {
			if e.Count > 1 || got[e.InvolvedObject.Name] != "" {
				t.Errorf("Node %s has the Event %d times: %s", e.InvolvedObject.Name, e.Count, e.Message)
			}
			got[e.InvolvedObject.Name] = e.Reason
		}
		if len(got) >= len(want) {
			for name, reason := range want {
				if got[name] != reason {
					t.Errorf("Node %s: Event %q, want %q", name, got[name], reason)
				}
			}
			if len(got) != len(want) {
				t.Errorf("Events %v, want %v", got, want)
			}
			break
		}
		<-tick.C
	}
	// What was missing comes, and the Node needs no further push.
	if err := s.Fleet.VCenter("west").Tag("dc", "zone", "b"); err != nil {
		t.Fatal(err)
	}
	initialized(t, s, d, s.Fleet.VCenter("west").Machines())
}

// node waits for a Node, nil if it is not there, to be as it should.
func (s *Stack) node(t *testing.T, d *Daemon, name, what string, ok func(*v1.Node) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	err := s.Watch(ctx, "Node "+name+" "+what, func(nodes []*v1.Node) bool {
		for _, n := range nodes {
			if n.Name == name {
				return ok(n)
			}
		}
		return ok(nil)
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, d.Log())
	}
}

func tainted(n *v1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == shutdownTaint {
			return true
		}
	}
	return false
}
