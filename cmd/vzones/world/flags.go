package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/config"
)

// Flags say where the configuration, the credentials and the Nodes are.
type Flags struct {
	// Need is set by the command.
	Need Need
	// Config is the path of the configuration file; FromCluster looks for it in the cluster.
	Config      string
	FromCluster bool
	// Kubeconfig and Context are as those of kubectl.
	Kubeconfig, Context string
	// Credentials are files with Secrets, for Secrets that the configuration names.
	Credentials []string
	// UUIDs and Machines are machines in place of Nodes, by UUID and by name.
	UUIDs, Machines []string
	// Timeout bounds the reading of all vCenters.
	Timeout time.Duration
}

// Add adds the flags to those of a command.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Config, "config", "c", "", "the configuration file")
	fs.BoolVar(&f.FromCluster, "from-cluster", false, "take configuration, credentials and flags from the daemon in the cluster, which is found by its Pods")
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig; by default that of kubectl")
	fs.StringVar(&f.Context, "context", "", "the context of the kubeconfig; by default the current one")
	fs.DurationVar(&f.Timeout, "timeout", time.Minute, "how long the vCenters have to answer")
	if f.Need == NodesOrMachines {
		fs.StringSliceVar(&f.UUIDs, "uuid", nil, "in place of the cluster's Nodes: machines by their UUIDs, as vSphere writes them")
		fs.StringSliceVar(&f.Machines, "vm", nil, "in place of the cluster's Nodes: machines by their names")
	}
}

// withoutCluster reports whether machines stand in for Nodes.
func (f *Flags) withoutCluster() bool { return len(f.UUIDs) > 0 || len(f.Machines) > 0 }

// connect makes the client of the cluster, if one is needed.
func (f *Flags) connect(w *World) error {
	if f.withoutCluster() && !f.FromCluster {
		return nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
	cfg, err := loaded.ClientConfig()
	switch {
	case err == nil:
	case clientcmd.IsEmptyConfig(err) && f.Need < Cluster && !f.FromCluster && f.Kubeconfig == "":
		if f.Need == NodesOrMachines {
			return errors.New("there is no kubeconfig: write --kubeconfig, or name machines with --uuid or --vm")
		}
		return nil
	default:
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst, cfg.Timeout = 50, 100, cmp.Or(f.Timeout, time.Minute)
	if w.Client, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("making a client of the cluster: %w", err)
	}
	w.RESTConfig = cfg
	return nil
}

// readConfig reads the configuration.
func (f *Flags) readConfig(ctx context.Context, w *World, read reader) error {
	if f.FromCluster {
		return errors.New("--from-cluster is not built yet")
	}
	from, err := source.New(f.Config, "", nil)
	if err != nil {
		return errors.New("there is no configuration: write --config FILE, or --from-cluster")
	}
	w.Source = from.String()
	w.Config, err = from.Read(ctx, read)
	return err
}

// pageSize is how many Nodes are listed at a time.
const pageSize = 1000

// readNodes lists the Nodes, or makes them of the machines that were asked for.
func (f *Flags) readNodes(ctx context.Context, w *World) error {
	switch {
	case f.Need == NoNodes:
		return nil
	case f.withoutCluster():
		w.Nodes = f.standIns()
		return nil
	case w.Client == nil:
		return nil
	}
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := w.Client.CoreV1().Nodes().List(ctx, opts)
		if err != nil {
			return fmt.Errorf("listing the Nodes: %w", err)
		}
		for i := range page.Items {
			w.Nodes = append(w.Nodes, &page.Items[i])
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			break
		}
	}
	slices.SortFunc(w.Nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// standIns returns Nodes that say of themselves what was asked for.
func (f *Flags) standIns() []*v1.Node {
	var all []*v1.Node
	for _, u := range f.UUIDs {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: u}}
		n.Spec.ProviderID = "vsphere://" + u
		all = append(all, n)
	}
	for _, name := range f.Machines {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		// Only a Node that waits to be initialized is looked for by its name.
		n.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}}
		all = append(all, n)
	}
	return all
}

// A reader reads Secrets, once each time.
type reader struct{ w *World }

// Get returns the data of a Secret.
func (r reader) Get(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	if r.w.Client == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ref.Name)
	}
	return secrets.Once{Client: r.w.Client}.Get(ctx, ref)
}
