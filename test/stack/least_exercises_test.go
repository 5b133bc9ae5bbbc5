package stack

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

const (
	leastFleet = `
vcenters:
- name: east
  tags: {region: east}
  datacenters:
  - {name: dc, clusters: [{name: c, hosts: 1, tags: {zone: a}}], vms: [{name: works}, {name: off}]}
`
	leastConfig = labels + "topology: {drift: update, settle: 0s}\n"
)

// leastFlags make all exercises take only seconds.
var leastFlags = []string{
	"--leader-elect=true", "--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=250ms",
	"--node-monitor-period=1s", "--tag-refresh=1s", "--deletion-hold=1s",
}

// An exercise makes the daemon do one thing and waits for its visible effect.
type exercise func(ctx context.Context, w *leastWorld) error

type leastWorld struct {
	s      *Stack
	d      *Daemon
	config string
	token  string
	admin  tls.Certificate
	// namespace contains the ServiceAccount, the Lease and the Secret; flags follow leastFlags.
	namespace string
	flags     []string
	// requests are the daemon's requests.
	requests []request
}

// exercises covers all of the daemon's uses of the API server, by their visible effect.
var exercises = map[string]exercise{
	"taking the Lease":               heldLease,
	"renewing the Lease":             renewedLease,
	"the initialization of Nodes":    initializedNode,
	"the addresses of Nodes":         addressed,
	"label changes of running Nodes": relabeled,
	"the taint of a VM that is off":  taintedShutdown,
	"the deletion of Nodes":          deletedNode,
	"Events of Nodes":                recordedNodeEvent,
	"repeated Events of a Node":      repeatedNodeEvent,
	"Events of the Lease":            recordedLeaseEvent,
	"Events of the daemon's Pod":     recordedPodEvent,
	"repeated Events of the Pod":     repeatedPodEvent,
	"the use of a new password":      newPassword,
	"/metrics with a token":          scraped,
	"/metrics with a certificate":    scrapedByCertificate,
}

// until waits for a condition and ignores errors. If the context is done first, it returns the last error.
func until(ctx context.Context, isMet func() (bool, error)) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		ok, err := isMet()
		if err != nil && ctx.Err() == nil {
			last = err
		}
		return ok, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

func heldLease(ctx context.Context, w *leastWorld) error {
	return until(ctx, func() (bool, error) {
		l, err := w.s.Client.CoordinationV1().Leases(w.namespace).Get(ctx, serviceAccount, metav1.GetOptions{})
		return err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "", err
	})
}

func renewedLease(ctx context.Context, w *leastWorld) error {
	var first *metav1.MicroTime
	return until(ctx, func() (bool, error) {
		l, err := w.s.Client.CoordinationV1().Leases(w.namespace).Get(ctx, serviceAccount, metav1.GetOptions{})
		if err != nil || l.Spec.RenewTime == nil {
			return false, err
		}
		if first == nil {
			first = l.Spec.RenewTime
		}
		return l.Spec.RenewTime.Sub(first.Time) > 0, nil
	})
}

// nodeIs waits until is returns true for a Node, nil if it does not exist.
func nodeIs(ctx context.Context, w *leastWorld, name string, is func(*v1.Node) bool) error {
	return until(ctx, func() (bool, error) {
		list, err := w.s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return false, err
		}
		if len(list.Items) == 0 {
			return is(nil), nil
		}
		return is(&list.Items[0]), nil
	})
}

func initializedNode(ctx context.Context, w *leastWorld) error {
	return nodeIs(ctx, w, "works", func(n *v1.Node) bool {
		return n != nil && Initialized(n) && n.Labels[v1.LabelTopologyZone] != "" && n.Spec.ProviderID != ""
	})
}

func addressed(ctx context.Context, w *leastWorld) error {
	return nodeIs(ctx, w, "works", func(n *v1.Node) bool { return n != nil && len(n.Status.Addresses) > 1 })
}

// relabeled changes the zone to b, a and b again, so that one Event repeats.
func relabeled(ctx context.Context, w *leastWorld) error {
	if err := initializedNode(ctx, w); err != nil {
		return err
	}
	for _, zone := range []string{"b", "a", "b"} {
		if err := w.s.Fleet.VCenter("east").Retag("c", "zone", zone); err != nil {
			return err
		}
		if err := nodeIs(ctx, w, "works", func(n *v1.Node) bool { return n != nil && n.Labels[v1.LabelTopologyZone] == zone }); err != nil {
			return err
		}
	}
	return nil
}

func taintedShutdown(ctx context.Context, w *leastWorld) error {
	if err := nodeIs(ctx, w, "off", func(n *v1.Node) bool { return n != nil && Initialized(n) }); err != nil {
		return err
	}
	if err := w.s.Fleet.VCenter("east").PowerOff("off"); err != nil {
		return err
	}
	if err := w.s.Cluster.SetNodeReady(ctx, "off", v1.ConditionUnknown); err != nil {
		return err
	}
	return nodeIs(ctx, w, "off", func(n *v1.Node) bool {
		return n != nil && slices.ContainsFunc(n.Spec.Taints, func(taint v1.Taint) bool { return taint.Key == cloudproviderapi.TaintNodeShutdown })
	})
}

func deletedNode(ctx context.Context, w *leastWorld) error {
	return nodeIs(ctx, w, "gone", func(n *v1.Node) bool { return n == nil })
}

// event waits for an Event about an object of a kind with at least this count.
func event(ctx context.Context, w *leastWorld, namespace, kind string, count int32) error {
	return until(ctx, func() (bool, error) {
		list, err := w.s.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(list.Items, func(e v1.Event) bool { return e.InvolvedObject.Kind == kind && e.Count >= count }), nil
	})
}

func recordedNodeEvent(ctx context.Context, w *leastWorld) error {
	return event(ctx, w, v1.NamespaceDefault, "Node", 1)
}

func repeatedNodeEvent(ctx context.Context, w *leastWorld) error {
	return event(ctx, w, v1.NamespaceDefault, "Node", 2)
}

func recordedLeaseEvent(ctx context.Context, w *leastWorld) error {
	return event(ctx, w, w.namespace, "Lease", 1)
}

func recordedPodEvent(ctx context.Context, w *leastWorld) error {
	return event(ctx, w, namespace, "Pod", 1)
}

// repeatedPodEvent alternates between an invalid and the valid configuration, twice.
func repeatedPodEvent(ctx context.Context, w *leastWorld) error {
	good, err := os.ReadFile(w.config)
	if err != nil {
		return err
	}
	started := func() (bool, error) { return w.d.Healthy(ctx) == nil, nil }
	if err := until(ctx, started); err != nil {
		return err
	}
	rejected := func() int { return strings.Count(w.d.Log(), "vcenter: is a number") }
	for i := 1; i <= 2; i++ {
		if err := os.WriteFile(w.config, []byte("vcenter: 1\n"), 0o600); err != nil {
			return err
		}
		if err := until(ctx, func() (bool, error) { return rejected() >= i, nil }); err != nil {
			return err
		}
		if err := os.WriteFile(w.config, good, 0o600); err != nil {
			return err
		}
		select {
		case <-time.After(1500 * time.Millisecond):
			// The daemon has read the file in the meantime.
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return event(ctx, w, namespace, "Pod", 2)
}

// writeSecret writes the credentials to the Secret in the namespace.
func (w *leastWorld) writeSecret(ctx context.Context) error {
	name := types.NamespacedName{Namespace: w.namespace, Name: secretName}
	return w.s.PutSecret(ctx, name, Credentials(w.s.Fleet.VCenter("east")))
}

func newPassword(ctx context.Context, w *leastWorld) error {
	east := w.s.Fleet.VCenter("east")
	if err := until(ctx, func() (bool, error) { return east.SOAPSessions() > 0, nil }); err != nil {
		return err
	}
	east.SetPassword("another")
	if err := w.writeSecret(ctx); err != nil {
		return err
	}
	select {
	case <-time.After(time.Second): // the daemon watches the Secret
	case <-ctx.Done():
		return ctx.Err()
	}
	east.EndSessions()
	return until(ctx, func() (bool, error) { return east.SOAPSessions() > 0, nil })
}

func scraped(ctx context.Context, w *leastWorld) error {
	return until(ctx, func() (bool, error) {
		code, _, err := w.d.Get(ctx, "/metrics", w.token)
		return code == http.StatusOK, err
	})
}

func scrapedByCertificate(ctx context.Context, w *leastWorld) error {
	return until(ctx, func() (bool, error) {
		code, _, err := w.d.get(ctx, "/metrics", "", []tls.Certificate{w.admin})
		return code == http.StatusOK, err
	})
}
