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

// Flags are the flags and settings of a command that opens a World.
type Flags struct {
	// NeedsNodes makes a missing cluster an error.
	NeedsNodes bool
	// Config is the path of the configuration file, or "" for the daemon's configuration.
	Config string
	// NodeLabels are values of the daemon's --node-labels to use with the file.
	NodeLabels []string
	// Kubeconfig and Overrides are kubectl's flags. The namespace in Overrides is the daemon's.
	Kubeconfig string
	Overrides  clientcmd.ConfigOverrides
	Selector   string
	// Credentials are manifests with the Secrets that the configuration references.
	Credentials []string
	// Timeout limits reading all vCenters.
	Timeout time.Duration
	// OnNodes is called before the vCenters are contacted. Its error ends Open. It may be nil.
	OnNodes func(*World) error
	// Follow returns the VMs to read in detail. If nil, the VMs of all Nodes are read.
	Follow func(*World) []inventory.Identity
	// NodesOptional lets the command continue if it may not list Nodes.
	NodesOptional bool
	// Recording is the path of a recording to read instead of vCenters and a cluster, or "".
	Recording string
	// Nodes, unless nil, are used instead of listing the cluster's Nodes.
	Nodes []*v1.Node
	// OnConfig is called once with the configuration before the vCenters are read, and must not block.
	// May be nil.
	OnConfig func(*config.Config)
	// Verbose is the maximum verbosity of the daemon's log lines on standard error; 0 disables them.
	Verbose int
}

// Add adds the flags, with kubectl's names. It omits kubectl's --username and --password, which look like
// credentials of a vCenter.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Config, "config", "c", "", "the configuration file (default: the configuration of the daemon in the cluster)")
	kubectlFlags := clientcmd.RecommendedConfigOverrideFlags("")
	flags := clientcmd.ConfigOverrideFlags{CurrentContext: kubectlFlags.CurrentContext, Timeout: kubectlFlags.Timeout, ContextOverrideFlags: kubectlFlags.ContextOverrideFlags}
	flags.AuthOverrideFlags.Impersonate = kubectlFlags.AuthOverrideFlags.Impersonate
	flags.AuthOverrideFlags.ImpersonateGroups = kubectlFlags.AuthOverrideFlags.ImpersonateGroups
	flags.ClusterOverrideFlags.APIServer = kubectlFlags.ClusterOverrideFlags.APIServer
	flags.ClusterOverrideFlags.APIServer.Description = "the address of the API server"
	flags.CurrentContext.Description = "the context in the kubeconfig"
	flags.Timeout.Description = "the timeout of a request to the API server"
	flags.ContextOverrideFlags.ClusterName.Description = "the cluster in the kubeconfig"
	flags.ContextOverrideFlags.AuthInfoName.Description = "the user in the kubeconfig"
	flags.ContextOverrideFlags.Namespace.Description = "the daemon's namespace (default " + metav1.NamespaceSystem + ")"
	flags.AuthOverrideFlags.Impersonate.Description = "the user to impersonate in the cluster"
	flags.AuthOverrideFlags.ImpersonateGroups.Description = "a group to impersonate in the cluster"
	clientcmd.BindOverrideFlags(&f.Overrides, fs, flags)
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig (default: the same as kubectl)")
	fs.StringSliceVar(&f.Credentials, "credentials", nil, "with --config: manifests of Secrets to use instead of the cluster's Secrets")
	fs.StringVar(&f.Recording, "recording", "", "read a file of vzones record, packed or unpacked, instead of vCenters and a cluster")
	fs.DurationVar(&f.Timeout, "timeout", time.Minute, "the time limit for reading all vCenters")
	fs.IntVarP(&f.Verbose, "verbose", "v", 0, fmt.Sprintf("print the daemon's log lines up to this verbosity, 1 to %d", maxVerbosity))
}

// AddSelector adds --selector.
func (f *Flags) AddSelector(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Selector, "selector", "l", "", "only Nodes that match this label selector, such as zone=a,env!=test")
}

// minTimeout is the daemon's minimum login timeout.
const minTimeout = time.Second

func (f *Flags) check() (labels.Selector, error) {
	switch {
	case f.Timeout < minTimeout:
		return nil, fmt.Errorf("--timeout is %v: the minimum is %v", f.Timeout, minTimeout)
	case f.Verbose > maxVerbosity:
		return nil, fmt.Errorf("--verbose is %d: the range is 1 to %d", f.Verbose, maxVerbosity)
	case f.Recording != "" && f.Config+f.Kubeconfig != "":
		return nil, errors.New("--recording contains the configuration and the Nodes: remove --config and --kubeconfig")
	case len(f.Credentials) > 0 && f.Config == "":
		return nil, errors.New("--credentials requires --config FILE: the credentials are only sent to servers in your own file")
	}
	selector, err := labels.Parse(f.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	return selector, nil
}

// maxVerbosity excludes the verbosities at which clients log requests (6) and their bodies (8).
const maxVerbosity = 5

func (f *Flags) withLog(ctx context.Context) context.Context {
	if f.Verbose <= 0 {
		return ctx
	}
	return klog.NewContext(ctx, faults.BoundedLog(textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(f.Verbose)))))
}
