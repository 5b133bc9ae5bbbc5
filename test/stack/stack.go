package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"vzones/internal/signal"
	"vzones/manifests"
	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/process"
)

const (
	namespace      = "kube-system"
	serviceAccount = "cloud-controller-manager"
	// secretName is the Secret that the manifest's role permits the daemon to read.
	secretName = "vsphere-cloud-secret"
)

// A Stack is a running control plane and fleet.
type Stack struct {
	Cluster *cluster.Cluster
	Fleet   *fleet.Fleet
	Client  kubernetes.Interface
	// Dir is a temporary folder for configuration, certificates and logs.
	Dir string
	// Kubeconfig is the path of the kubeconfig with the token of the ServiceAccount.
	Kubeconfig string
	// Env are further environment variables of new daemons.
	Env []string
	// HasNodeLifecycle reports whether the control plane sets the Ready condition of Nodes whose kubelet is silent.
	HasNodeLifecycle bool

	fullNodes bool
	daemons   []*Daemon
	kubelets  []*process.Process
	granted   []types.NamespacedName
}

// Options are the options of a Stack.
type Options struct {
	// Fleet describes the vCenters in the format of fleet.Parse. vCenters with the default address
	// get different addresses, because credentials are by address.
	Fleet   string
	Cluster cluster.Options
	// NodeLifecycle runs the node-lifecycle controller, which hand-made Nodes would confuse: all Nodes need kubelets.
	NodeLifecycle bool
	// FullNodes makes Register create Nodes with as much data as Nodes with running Pods.
	FullNodes bool
	// Bare omits the manifest and the Secret, for tests that install in another way and then call
	// UseServiceAccount.
	Bare bool
}

// Start starts the control plane and the fleet in parallel and applies the manifest with the fleet's credentials in the
// Secret. The caller must call Stop, unless Start fails.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	s := &Stack{fullNodes: opts.FullNodes, HasNodeLifecycle: opts.NodeLifecycle}
	if err := s.start(ctx, opts); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, opts Options) error {
	spec, err := parseFleet(opts.Fleet)
	if err != nil {
		return err
	}
	if s.Dir, err = os.MkdirTemp("", "vzones-stack-"); err != nil {
		return err
	}
	if opts.NodeLifecycle {
		opts.Cluster.Controllers = []string{cluster.NodeLifecycle}
		// A third of the default grace period, and some renewals of a hollow kubelet's Lease.
		opts.Cluster.Flags = map[string][]string{cluster.ControllerManager: {"--node-monitor-period=1s", "--node-monitor-grace-period=16s"}}
	}
	var g errgroup.Group
	g.Go(func() (err error) {
		s.Fleet, err = fleet.Start(ctx, spec)
		return err
	})
	g.Go(func() (err error) {
		if s.Cluster, err = cluster.Start(ctx, opts.Cluster); err == nil && opts.NodeLifecycle {
			err = s.Cluster.StartControllerManager(ctx)
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	s.Client = s.Cluster.Client()
	if opts.Bare {
		return nil
	}
	if err := s.Cluster.Apply(ctx, manifests.Plain, func(kind string) bool { return kind != "Secret" }); err != nil {
		return err
	}
	if err := s.WriteSecret(ctx); err != nil {
		return err
	}
	return s.UseServiceAccount(ctx)
}

// UseServiceAccount makes new daemons use a token of the current ServiceAccount.
func (s *Stack) UseServiceAccount(ctx context.Context) (err error) {
	s.Kubeconfig, err = s.Cluster.ServiceAccountKubeconfig(ctx, namespace, serviceAccount)
	return err
}

// parseFleet parses a description and gives each vCenter a different address.
func parseFleet(description string) (*fleet.Spec, error) {
	spec, err := fleet.Parse([]byte(description))
	if err != nil {
		return nil, err
	}
	for i := range spec.VCenters {
		if spec.VCenters[i].Address == "127.0.0.1" {
			spec.VCenters[i].Address = fmt.Sprintf("127.0.0.%d", 2+i)
		}
	}
	return spec, nil
}

// Stop stops the daemons, the fleet and the control plane, and removes Dir.
func (s *Stack) Stop() error {
	var errs []error
	for _, d := range s.daemons {
		errs = append(errs, d.Kill())
	}
	errs = append(errs, s.killKubelets()...)
	if s.Fleet != nil {
		s.Fleet.Close()
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Stop())
	}
	if s.Dir != "" {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}

// Register creates Nodes for VMs, as their kubelets do. Every third reports its UUID in the other byte order, as some
// guests do.
func (s *Stack) Register(ctx context.Context, vms ...fleet.VM) error {
	specs := make([]cluster.NodeSpec, 0, len(vms))
	for i, m := range vms {
		uuid := m.UUID
		if i%3 == 2 {
			uuid = m.SwappedUUID()
		}
		specs = append(specs, cluster.NodeSpec{Name: m.Name, SystemUUID: uuid, Full: s.fullNodes})
	}
	return s.Cluster.CreateNodes(ctx, specs)
}

// Nodes returns all Nodes by name.
func (s *Stack) Nodes(ctx context.Context) (map[string]*v1.Node, error) {
	list, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	nodes := map[string]*v1.Node{}
	for i := range list.Items {
		nodes[list.Items[i].Name] = &list.Items[i]
	}
	return nodes, nil
}

// FollowNodes calls the handler for each change of a Node until stop returns. The store has the latest versions once
// hasSynced is true.
func (s *Stack) FollowNodes(ctx context.Context, handler cache.ResourceEventHandler) (store cache.Store, hasSynced func() bool, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(s.Client.CoreV1().RESTClient(), "nodes", "", fields.Everything()),
		ObjectType:    &v1.Node{},
		Handler:       handler,
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	return store, informer.HasSynced, func() { cancel(); <-done }
}

// Watch calls seen with all Nodes, initially and after each change, until it returns true or the context is done.
func (s *Stack) Watch(ctx context.Context, goal string, seen func([]*v1.Node) bool) error {
	changed := signal.New()
	store, hasSynced, stop := s.FollowNodes(ctx, cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed.Notify() },
		UpdateFunc: func(any, any) { changed.Notify() },
		DeleteFunc: func(any) { changed.Notify() },
	})
	defer stop()
	for {
		if hasSynced() && seen(nodesIn(store)) {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond): // the first list may be empty
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", goal, context.Cause(ctx))
		}
	}
}

func nodesIn(store cache.Store) []*v1.Node {
	objects := store.List()
	nodes := make([]*v1.Node, len(objects))
	for i, o := range objects {
		nodes[i] = o.(*v1.Node) //nolint:forcetypeassert // the informer's type
	}
	return nodes
}

// Initialized reports whether a cloud provider has initialized a Node.
func Initialized(n *v1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == "node.cloudprovider.kubernetes.io/uninitialized" {
			return false
		}
	}
	return true
}
