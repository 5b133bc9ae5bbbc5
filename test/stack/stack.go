package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"vzones/internal/signal"
	"vzones/manifests"
	"vzones/test/cluster"
	"vzones/test/fleet"
)

const (
	namespace      = "kube-system"
	serviceAccount = "cloud-controller-manager"
	// secretName is the Secret that the manifest's role lets the daemon read.
	secretName = "vsphere-cloud-secret"
)

// A Stack is a running control plane and fleet.
type Stack struct {
	Cluster *cluster.Cluster
	Fleet   *fleet.Fleet
	Client  kubernetes.Interface
	// Dir is a temporary folder: configuration, certificates, logs.
	Dir string
	// Kubeconfig is the path of the kubeconfig with the token of the ServiceAccount.
	Kubeconfig string
	// Env are further variables of the daemons that are started.
	Env []string

	fullNodes bool
	daemons   []*Daemon
	granted   []types.NamespacedName
}

// Options say what a Stack is made of.
type Options struct {
	// Fleet describes the vCenters, as fleet.Parse takes it. vCenters at the
	// default address get one each, since credentials are by address.
	Fleet string
	// Cluster configures the control plane.
	Cluster cluster.Options
	// FullNodes has Register create Nodes with as much as those have that run Pods.
	FullNodes bool
	// Bare leaves the manifest and the Secret out, for whoever installs in another way and
	// then calls UseServiceAccount.
	Bare bool
}

// Start starts the control plane and the fleet side by side and applies the
// manifest, the Secret with the credentials of the fleet instead of its own.
// The caller must call Stop; after an error there is nothing to stop.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	s := &Stack{fullNodes: opts.FullNodes}
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
	var g errgroup.Group
	g.Go(func() (err error) {
		s.Fleet, err = fleet.Start(ctx, spec)
		return err
	})
	g.Go(func() (err error) {
		s.Cluster, err = cluster.Start(ctx, opts.Cluster)
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

// UseServiceAccount takes a token of the ServiceAccount, as it is now, for the daemons that
// are started from now on.
func (s *Stack) UseServiceAccount(ctx context.Context) (err error) {
	s.Kubeconfig, err = s.Cluster.ServiceAccountKubeconfig(ctx, namespace, serviceAccount)
	return err
}

// parseFleet reads a description and gives each vCenter an address of its own.
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

// Stop ends the daemons, the fleet and the control plane, and removes Dir.
func (s *Stack) Stop() error {
	var errs []error
	for _, d := range s.daemons {
		errs = append(errs, d.Kill())
	}
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

// Register creates Nodes for machines as their kubelets do. Every third sees
// its machine's UUID in the other byte order, as some guests do.
func (s *Stack) Register(ctx context.Context, machines ...fleet.Machine) error {
	specs := make([]cluster.NodeSpec, 0, len(machines))
	for i, m := range machines {
		uuid := m.UUID
		if i%3 == 2 {
			uuid = m.SwappedUUID()
		}
		specs = append(specs, cluster.NodeSpec{Name: m.Name, SystemUUID: uuid, Full: s.fullNodes})
	}
	return s.Cluster.CreateNodes(ctx, specs)
}

// Watch calls seen with all Nodes, first as they are and then after each
// change, until it returns true. The context bounds it.
func (s *Stack) Watch(ctx context.Context, what string, seen func([]*v1.Node) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := signal.New()
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(s.Client.CoreV1().RESTClient(), "nodes", "", fields.Everything()),
		ObjectType:    &v1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { changed.Notify() },
			UpdateFunc: func(any, any) { changed.Notify() },
			DeleteFunc: func(any) { changed.Notify() },
		},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	defer func() { cancel(); <-done }()
	for {
		if informer.HasSynced() && seen(nodesIn(store)) {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond): // the first list may be empty
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
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

// Initialized reports whether a Node was initialized by a cloud provider.
func Initialized(n *v1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == "node.cloudprovider.kubernetes.io/uninitialized" {
			return false
		}
	}
	return true
}
