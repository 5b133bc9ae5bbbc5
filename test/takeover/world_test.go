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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	// timeout bounds the wait for an expected effect on a busy host.
	timeout = 2 * time.Minute
	// standbyMessage is logged by both daemons while they wait for the Lease, compared without case.
	standbyMessage = "attempting to acquire leader lease"
	// rounds is the number of address updates to wait for while nothing may change. Nodes that are
	// not ready are checked at the same interval.
	rounds = 4
	// roundMessage is logged by both daemons after an update of all addresses.
	roundMessage = "nodes status took"
)

// flags are the flags of both daemons. One of them leads, as during the rollout of a DaemonSet. Webhooks are off
// because the framework uses a fixed port for them.
func flags() []string {
	return []string{
		"--webhook-secure-port=0",
		"--leader-elect=true", "--leader-elect-lease-duration=15s", "--leader-elect-renew-deadline=12s", "--leader-elect-retry-period=500ms",
		"--node-status-update-frequency=1s", "--node-monitor-period=1s",
	}
}

// A world is a cluster with its vCenters and at most one leading provider.
type world struct {
	t            *testing.T
	s            *stack.Stack
	config       string
	nodeRecorder *nodeRecorder
}

// newWorld starts a control plane and vCenters and begins to record the Nodes.
func newWorld(t *testing.T, options stack.Options) *world {
	t.Helper()
	s, err := stack.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{t: t, s: s}
	watching, stop := context.WithCancel(t.Context())
	if w.nodeRecorder, err = recordNodes(watching, s.Client.CoreV1().Nodes()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); <-w.nodeRecorder.done })
	return w
}

// configure writes the configuration for both, and grants the ServiceAccount the permissions in the CPI's manifest.
func (w *world) configure() {
	w.t.Helper()
	var err error
	if w.config, err = w.s.WriteConfig(theConfig); err != nil {
		w.t.Fatal(err)
	}
	// The CPI rejects VMs without an address of each family, so only one vCenter has both families.
	content, err := os.ReadFile(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	content = bytes.Replace(content, []byte("  west:\n"), []byte("  west:\n    ipFamily: [ipv4, ipv6]\n"), 1)
	if err := os.WriteFile(w.config, content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.s.Env = []string{"ENABLE_ALPHA_DUAL_STACK=true"} // required by the CPI
	if err := w.s.Cluster.Apply(w.t.Context(), []byte(stack.CPIPermissions), nil); err != nil {
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
		w.t.Fatalf("stopping the daemon: %v\n%s", err, tail(d.Log()))
	}
}

// stopIncumbent stops the CPI and ignores its exit status: the CPI may mistake the closing of its file watch for a
// change, and then exits with an error.
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
	m := w.vm(b.name)
	spec := cluster.NodeSpec{Name: b.name, SystemUUID: m.UUID, ProvidedIP: b.nodeIP}
	if b.swapped {
		spec.SystemUUID = m.SwappedUUID()
	}
	if b.providerID != nil {
		spec.ProviderID = b.providerID(m)
	}
	n := spec.Node()
	if b.initializedInTree {
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

func (w *world) vm(name string) fleet.VM {
	w.t.Helper()
	m, err := w.s.Fleet.VM(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// until waits until ask returns nil for each Node while d runs.
func (w *world) until(d *stack.Daemon, what string, ask func(*v1.Node) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), timeout, fmt.Errorf("not within %v", timeout))
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
		w.t.Fatalf("%v; last state: %v\n%s", err, last, tail(d.Log()))
	}
}

// startStandby starts a daemon while another one leads and waits until it competes for the Lease.
func (w *world) startStandby(binary string) *stack.Daemon {
	w.t.Helper()
	d := w.start(binary)
	w.poll(d, "the daemon to wait for the Lease", func() bool { return strings.Contains(strings.ToLower(d.Log()), standbyMessage) })
	return d
}

// awaitEvent waits for an Event about a Node.
func (w *world) awaitEvent(d *stack.Daemon, node, reason string) {
	w.t.Helper()
	w.poll(d, "the Event "+reason+" of Node "+node, func() bool {
		events, err := w.s.Client.CoreV1().Events("").List(w.t.Context(),
			metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=" + reason})
		return err == nil && len(events.Items) > 0
	})
}

// hold waits for several rounds of a daemon and checks that nothing has changed.
func (w *world) hold(d *stack.Daemon, when string) {
	w.t.Helper()
	before := strings.Count(d.Log(), roundMessage)
	w.poll(d, "more rounds ("+when+")", func() bool { return strings.Count(d.Log(), roundMessage) >= before+rounds })
	changes, err := w.nodeRecorder.violations(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, change := range changes {
		w.t.Errorf("%s: Node %s", when, change)
	}
}

func (w *world) expectUnchanged(except ...exception) {
	w.t.Helper()
	if err := w.nodeRecorder.expectUnchanged(w.t.Context(), except...); err != nil {
		w.t.Fatal(err)
	}
}

// poll waits for a condition while d runs.
func (w *world) poll(d *stack.Daemon, what string, happened func() bool) {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		select {
		case <-d.Exited():
			return false, errors.New("the daemon exited")
		default:
			return happened(), nil
		}
	})
	if err != nil {
		w.t.Fatalf("waiting for %s: %v\n%s", what, err, tail(d.Log()))
	}
}

func tail(log string) string { return log[max(0, len(log)-2<<10):] }
