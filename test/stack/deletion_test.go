package stack

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
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

// deadID is a provider ID without a VM.
const deadID = "vsphere://422e4956-dead-1139-6d72-59cc8f26bc90"

// deadNode returns a Node whose VM was found before.
func deadNode(name string) *v1.Node {
	n := cluster.NodeSpec{Name: name, ProviderID: deadID, SystemUUID: strings.TrimPrefix(deadID, "vsphere://")}.Node()
	n.Annotations = map[string]string{nodeinfo.KeyVM: "east/vm-4711"}
	return n
}

// interloper replaces a Node with a new one of the same name after the answer that its VM does not exist and before
// its deletion.
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

// TestANewNodeIsNotDeletedForTheOldOne: the framework's controller deletes by name, but must not delete a Node that was
// registered under this name in the last moment.
func TestANewNodeIsNotDeletedForTheOldOne(t *testing.T) {
	s := start(t, Options{Fleet: "vcenters: [{name: east, datacenters: [{name: dc}]}]"})
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
	for _, run := range []func(context.Context) error{fleet.Run, nodes.New(fleet, p.Store(), p.Checker(), s.Client).Run} {
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
	// No goroutine sets successor after this.
	running.Wait()
	factory.Shutdown()
	n, err := s.Client.CoreV1().Nodes().Get(t.Context(), "replaced", metav1.GetOptions{})
	if err != nil || successor == nil || n.UID != successor.UID || n.DeletionTimestamp != nil {
		t.Errorf("the new Node must not be deleted: got %v, %v; the framework reported: %s", n, err, failed)
	}
}

// event waits for an Event about a Node and returns its message.
func (s *Stack) event(t *testing.T, node, reason string) (message string) {
	t.Helper()
	await(t, "an Event "+reason+" about Node "+node, func(ctx context.Context) (bool, error) {
		events, err := s.Client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + node + ",reason=" + reason})
		if err != nil || len(events.Items) == 0 {
			return false, err
		}
		message = events.Items[0].Message
		return true, nil
	})
	return message
}
