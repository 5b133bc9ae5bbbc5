package takeover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// timeout is how long something may take that has to happen, on a busy machine.
	timeout = 2 * time.Minute
	// standing is what both daemons log when they wait for the Lease, in some case.
	standing = "attempting to acquire leader lease"
	// passes is how often a daemon compares the addresses of all Nodes while nothing may
	// change. It looks at those that are not ready just as often.
	passes = 4
	// ofARound is what both daemons log after one.
	ofARound = "nodes status took"
)

// flags are those of both daemons. One of them leads, as while a DaemonSet is rolled out. Neither
// serves webhooks, for which the framework has a fixed port.
func flags() []string {
	return []string{
		"--webhook-secure-port=0",
		"--leader-elect=true", "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=12s", "--leader-elect-retry-period=500ms",
		"--node-status-update-frequency=1s", "--node-monitor-period=1s",
	}
}

// A world is a cluster and its vCenters, with at most one provider that leads.
type world struct {
	t            *testing.T
	s            *stack.Stack
	config       string
	nodeRecorder *nodeRecorder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{Fleet: theFleet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, s: s}
	if w.config, err = s.WriteConfig(theConfig); err != nil {
		t.Fatal(err)
	}
	// The CPI takes no machine that lacks a family, so only one vCenter has both.
	content, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.Replace(content, []byte("  west:\n"), []byte("  west:\n    ipFamily: [ipv4, ipv6]\n"), 1)
	if err := os.WriteFile(w.config, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Env = []string{"ENABLE_ALPHA_DUAL_STACK=true"} // the CPI wants it
	w.grant()
	watching, stop := context.WithCancel(t.Context())
	if w.nodeRecorder, err = recordNodes(watching, s.Client.CoreV1().Nodes()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); <-w.nodeRecorder.done })
	return w
}

// grant gives the ServiceAccount, whose name is the same, what the CPI's manifest gives it
// and that of vzones does not.
func (w *world) grant() {
	w.t.Helper()
	there := metav1.ObjectMeta{Name: "system:cloud-controller-manager:of-the-cpi"}
	role := &rbacv1.ClusterRole{ObjectMeta: there, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "patch", "update", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts", "endpoints"}, Verbs: []string{"create", "get", "list", "watch", "update"}},
	}}
	if _, err := w.s.Client.RbacV1().ClusterRoles().Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: there,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: there.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: "cloud-controller-manager"}},
	}
	if _, err := w.s.Client.RbacV1().ClusterRoleBindings().Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) start(binary string) *stack.Daemon {
	w.t.Helper()
	d, err := w.s.StartDaemon(binary, w.config, flags()...)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) stop(d *stack.Daemon) {
	w.t.Helper()
	if _, err := d.Stop(); err != nil {
		w.t.Fatalf("%v\n%s", err, tail(d.Log()))
	}
}

// stopIncumbent ends the CPI. Its status means nothing: when it closes the watch of its file, it
// may take that for a change, and then ends itself with an error.
func (w *world) stopIncumbent(cpi *stack.Daemon) {
	w.t.Helper()
	_, err := cpi.Stop()
	select {
	case <-cpi.Exited():
	default:
		w.t.Fatal(err)
	}
}

// register creates a Node as its kubelet does.
func (w *world) register(b *bystander) {
	w.t.Helper()
	m := w.machine(b.name)
	spec := cluster.NodeSpec{Name: b.name, SystemUUID: m.UUID, ProvidedIP: b.nodeIP}
	if b.swapped {
		spec.SystemUUID = m.SwappedUUID()
	}
	if b.providerID != nil {
		spec.ProviderID = b.providerID(m)
	}
	n := spec.Node()
	if b.left {
		n.Spec.Taints = nil
		n.Status.Addresses = []v1.NodeAddress{
			{Type: v1.NodeExternalIP, Address: m.IPs[0]}, {Type: v1.NodeInternalIP, Address: m.IPs[0]}, {Type: v1.NodeHostName, Address: m.HostName},
		}
		for _, key := range []string{v1.LabelFailureDomainBetaRegion, v1.LabelTopologyRegion} {
			n.Labels[key] = "east"
		}
		for _, key := range []string{v1.LabelFailureDomainBetaZone, v1.LabelTopologyZone} {
			n.Labels[key] = "east-a"
		}
	}
	if _, err := w.s.Cluster.CreateNode(w.t.Context(), n); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) machine(name string) fleet.Machine {
	w.t.Helper()
	m, err := w.s.Fleet.Machine(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// until waits until ask returns nil for each Node while d runs.
func (w *world) until(d *stack.Daemon, what string, ask func(*v1.Node) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), timeout, fmt.Errorf("not in %v", timeout))
	defer cancel()
	var last error
	err := w.s.Watch(ctx, what, func(nodes []*v1.Node) bool {
		last = nil
		for _, n := range nodes {
			if err := ask(n); err != nil {
				last = errors.Join(last, fmt.Errorf("Node %s: %w", n.Name, err))
			}
		}
		return last == nil && len(nodes) > 0
	})
	if err != nil {
		w.t.Fatalf("%v: %v\n%s", err, last, tail(d.Log()))
	}
}

// startStandby starts a daemon while another one leads, and waits until it does.
func (w *world) startStandby(binary string) *stack.Daemon {
	w.t.Helper()
	d := w.start(binary)
	for end := time.Now().Add(timeout); !strings.Contains(strings.ToLower(d.Log()), standing); w.rest() {
		if time.Now().After(end) {
			w.t.Fatalf("it does not wait for the Lease\n%s", tail(d.Log()))
		}
	}
	return d
}

// awaitEvent waits until there is an Event of a reason about a Node.
func (w *world) awaitEvent(d *stack.Daemon, node, reason string) {
	w.t.Helper()
	for end := time.Now().Add(timeout); ; {
		events, err := w.s.Client.CoreV1().Events("").List(w.t.Context(),
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=" + reason})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(events.Items) > 0 {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("no Event %s about Node %s\n%s", reason, node, tail(d.Log()))
		}
		w.rest()
	}
}

// hold lets a daemon look at all Nodes several times, and checks that nothing has changed.
func (w *world) hold(d *stack.Daemon, when string) {
	w.t.Helper()
	before := strings.Count(d.Log(), ofARound)
	for end := time.Now().Add(timeout); strings.Count(d.Log(), ofARound) < before+passes; w.rest() {
		select {
		case <-d.Exited():
			w.t.Fatalf("%s: it has ended\n%s", when, tail(d.Log()))
		default:
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s: no %d rounds in %v\n%s", when, passes, timeout, tail(d.Log()))
		}
	}
	changes, err := w.nodeRecorder.violations(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, change := range changes {
		w.t.Errorf("%s: Node %s", when, change)
	}
}

// expectUnchanged is nodeRecorder.expectUnchanged.
func (w *world) expectUnchanged(except ...exception) {
	w.t.Helper()
	if err := w.nodeRecorder.expectUnchanged(w.t.Context(), except...); err != nil {
		w.t.Fatal(err)
	}
}

// rest waits between two checks.
func (w *world) rest() {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-w.t.Context().Done():
		w.t.Fatal(w.t.Context().Err())
	}
}

// tail is the end of a log.
func tail(log string) string { return log[max(0, len(log)-2<<10):] }
