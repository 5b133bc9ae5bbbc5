package stack

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	lifecyclecontroller "k8s.io/cloud-provider/controllers/nodelifecycle"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/test/cluster"
	"vzones/vcenter"
)

// deadID is a provider ID of no machine.
const deadID = "vsphere://422e4956-dead-1139-6d72-59cc8f26bc90"

// deadNode is a Node whose machine was found once.
func deadNode(name string) *v1.Node {
	n := cluster.NodeSpec{Name: name, ProviderID: deadID, SystemUUID: strings.TrimPrefix(deadID, "vsphere://")}.Node()
	n.Annotations = map[string]string{nodeinfo.KeyMachine: "east/vm-4711"}
	return n
}

// interloper replaces a Node by a new one of its name, between the answer that its
// machine does not exist and the deletion that follows.
type interloper struct {
	*provider.Provider
	name    string
	replace func()
}

func (i interloper) InstancesV2() (cloudprovider.InstancesV2, bool) { return i, true }

func (i interloper) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := i.Provider.InstanceExists(ctx, node)
	if node.Name == i.name && !exists && err == nil {
		i.replace()
	}
	return exists, err
}

// TestANewNodeIsNotDeletedForTheOldOne: the framework's controller deletes by
// name. A Node of that name that was registered in the last moment is another one.
func TestANewNodeIsNotDeletedForTheOldOne(t *testing.T) {
	s := start(t, "vcenters: [{name: east, datacenters: [{name: dc}]}]")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	east := s.Fleet.VCenter("east")
	cfg := &config.Config{VCenters: []config.VCenter{{
		Name: "east", Server: east.Host(), Port: east.Port(), RoundTrips: 3, CA: east.Certificate(),
		User: east.User(), Password: config.NewPassword(east.Password()), IPFamilies: []string{"ipv4"},
	}}}
	fleet := vcenter.NewFleet(cfg.VCenters, vcenter.FromFile, vcenter.Options{})
	p := provider.New(fleet, cfg, provider.Options{})
	factory := informers.NewSharedInformerFactory(s.Client, 0)
	p.SetInformers(factory)
	var successor *v1.Node
	cloud := interloper{p, "replaced", sync.OnceFunc(func() {
		if err := s.Client.CoreV1().Nodes().Delete(ctx, "replaced", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
			return
		}
		var err error
		if successor, err = s.Cluster.CreateNode(ctx, cluster.NodeSpec{Name: "replaced"}.Node()); err != nil {
			t.Error(err)
		}
	})}
	lifecycle, err := lifecyclecontroller.NewCloudNodeLifecycleController(p.NodeInformer(), p.Client(s.Client), cloud, 200*time.Millisecond, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"replaced", "gone"} {
		if _, err := s.Cluster.CreateNode(ctx, deadNode(name)); err != nil {
			t.Fatal(err)
		}
		if err := s.Cluster.SetNodeReady(ctx, name, v1.ConditionUnknown); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range []func(context.Context) error{fleet.Run, nodes.New(fleet, p.Placer(), p.Checker(), s.Client).Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	running.Go(func() { lifecycle.Run(ctx, controllersmetrics.NewControllerManagerMetrics("test")) })

	failed := s.event(t, "replaced", "DeletingNodeFailed")
	if err := s.Watch(ctx, "Node gone is deleted", func(nodes []*v1.Node) bool { return len(nodes) == 1 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	running.Wait() // and nobody writes to it any more
	factory.Shutdown()
	n, err := s.Client.CoreV1().Nodes().Get(t.Context(), "replaced", metav1.GetOptions{})
	if err != nil || successor == nil || n.UID != successor.UID || n.DeletionTimestamp != nil {
		t.Errorf("the new Node: %v, %v; the framework: %s", n, err, failed)
	}
}

// event waits for an Event of a reason about a Node and returns its message.
func (s *Stack) event(t *testing.T, node, reason string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		events, err := s.Client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=" + reason})
		if err != nil {
			t.Fatalf("no Event %s about Node %s: %v", reason, node, err)
		}
		if len(events.Items) > 0 {
			return events.Items[0].Message
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("no Event %s about Node %s", reason, node)
		}
	}
}

// TestTheDaemonDeletesByUID: an API server that lets nobody delete a Node without its
// UID lets the daemon.
func TestTheDaemonDeletesByUID(t *testing.T) {
	s := startOwn(t, Options{Fleet: "vcenters: [{name: east, datacenters: [{name: dc}]}]"})
	ctx := t.Context()
	fail, name := admissionv1.Fail, "nodes-by-uid"
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Delete},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes"}},
	}}
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		FailurePolicy:    &fail,
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
		Validations:      []admissionv1.Validation{{Expression: "has(request.options.preconditions) && has(request.options.preconditions.uid)"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	admission := s.Client.AdmissionregistrationV1()
	if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node, err := s.Cluster.CreateNode(ctx, deadNode("gone"))
	if err != nil {
		t.Fatal(err)
	}
	s.denied(t, node)
	if err := s.Cluster.SetNodeReady(ctx, node.Name, v1.ConditionUnknown); err != nil {
		t.Fatal(err)
	}
	config, err := s.WriteConfig("")
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config, "--node-monitor-period=1s")
	if err != nil {
		t.Fatal(err)
	}
	s.node(t, d, "gone", "is deleted", func(n *v1.Node) bool { return n == nil })
}

// denied waits until nobody may delete a Node without its UID.
func (s *Stack) denied(t *testing.T, node *v1.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	trial := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
	for {
		err := s.Client.CoreV1().Nodes().Delete(ctx, node.Name, trial)
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the policy never came into force")
		}
	}
}
