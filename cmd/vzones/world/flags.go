package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/config"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// Flags say where the configuration, the credentials and the Nodes are.
type Flags struct {
	// NeedsNodes is set by a command that fails without the Nodes of the cluster.
	NeedsNodes bool
	// Config is the path of the configuration file, empty for the configuration of the daemon.
	Config string
	// NodeLabels are the values of the daemon's --node-labels, for the configuration in a file.
	NodeLabels []string
	// Kubeconfig is as that of kubectl, and Overrides are its flags: the context, and the namespace
	// of the daemon's Pods.
	Kubeconfig string
	Overrides  clientcmd.ConfigOverrides
	// Selector selects Nodes by their labels, see World.Selected.
	Selector string
	// Credentials are files with Secrets, for Secrets that the configuration names.
	Credentials []string
	// Timeout bounds the reading of all vCenters. What is not read by then has failed.
	Timeout time.Duration
	// Follow is set by a command that does not need the machines of all Nodes. It returns those
	// that are read, by what the Nodes say.
	Follow func(*World) []inventory.Identity
	// NodesOptional is set by a command that goes on without the Nodes if it may not list them.
	NodesOptional bool
	// Nodes are those of the cluster if they were listed before, nil if they are to be listed.
	Nodes []*v1.Node
	// Beside is called once with the configuration, by a command that asks something of the
	// vCenters while they are read. It returns at once. Nil for nothing.
	Beside func(*config.Config)
	// Verbose is up to which level the log of the daemon's packages goes to standard error,
	// 0 for none.
	Verbose int
}

// Add adds the flags to those of a command. They are called as those of kubectl. User and password
// are not bound: they would be taken for those of a vCenter.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Config, "config", "c", "", "the configuration file; by default that of the daemon in the cluster")
	all := clientcmd.RecommendedConfigOverrideFlags("")
	flags := clientcmd.ConfigOverrideFlags{CurrentContext: all.CurrentContext, Timeout: all.Timeout, ContextOverrideFlags: all.ContextOverrideFlags}
	flags.AuthOverrideFlags.Impersonate = all.AuthOverrideFlags.Impersonate
	flags.AuthOverrideFlags.ImpersonateGroups = all.AuthOverrideFlags.ImpersonateGroups
	flags.ClusterOverrideFlags.APIServer = all.ClusterOverrideFlags.APIServer
	flags.ClusterOverrideFlags.APIServer.Description = "the address of the API server"
	flags.CurrentContext.Description = "the context of the kubeconfig"
	flags.Timeout.Description = "how long a request to the API server may take"
	flags.ContextOverrideFlags.ClusterName.Description = "the cluster of the kubeconfig"
	flags.ContextOverrideFlags.AuthInfoName.Description = "the user of the kubeconfig"
	flags.ContextOverrideFlags.Namespace.Description = "the namespace of the daemon; by default " + metav1.NamespaceSystem
	flags.AuthOverrideFlags.Impersonate.Description = "the user to impersonate in the cluster"
	flags.AuthOverrideFlags.ImpersonateGroups.Description = "a group to impersonate in the cluster"
	clientcmd.BindOverrideFlags(&f.Overrides, fs, flags)
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig, by default that of kubectl")
	fs.StringSliceVar(&f.Credentials, "credentials", nil, "with --config: manifests of Secrets, in place of those of the cluster")
	fs.DurationVar(&f.Timeout, "timeout", time.Minute, "how long the vCenters have to answer")
	fs.IntVarP(&f.Verbose, "verbose", "v", 0, fmt.Sprintf("show the daemon's log lines up to this level, 1 to %d", mostVerbose))
}

// AddSelector adds the flag that selects Nodes.
func (f *Flags) AddSelector(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Selector, "selector", "l", "", "only Nodes with these labels, such as zone=a,env!=test")
}

// leastTimeout is less than the shortest reading takes, and as long as the daemon's shortest login.
const leastTimeout = time.Second

// check returns what is wrong with the values of the flags, and the selector of Nodes.
func (f *Flags) check() (labels.Selector, error) {
	switch {
	case f.Timeout < leastTimeout:
		return nil, fmt.Errorf("--timeout is %v: write at least %v", f.Timeout, leastTimeout)
	case f.Verbose > mostVerbose:
		return nil, fmt.Errorf("--verbose is %d: write 1 to %d", f.Verbose, mostVerbose)
	case len(f.Credentials) > 0 && f.Config == "":
		return nil, errors.New("--credentials go only to servers that you name: write --config FILE with them")
	}
	selector, err := labels.Parse(f.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return selector, nil
}

// mostVerbose is the highest level of the log: from 6 on clients log requests, and at 8 what is in
// them.
const mostVerbose = 5

// withLog returns a context whose log goes to standard error, if it is to be shown.
func (f *Flags) withLog(ctx context.Context) context.Context {
	if f.Verbose <= 0 {
		return ctx
	}
	return klog.NewContext(ctx, faults.BoundedLog(textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(f.Verbose)))))
}
