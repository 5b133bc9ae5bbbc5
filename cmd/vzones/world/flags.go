package world

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// A Need is what a command needs beside the vCenters.
type Need int

// The needs.
const (
	// NodesIfAny: it uses the Nodes of the cluster if there is a kubeconfig.
	NodesIfAny Need = iota
	// NodesOrMachines: Nodes of the cluster, or machines that flags name.
	NodesOrMachines
	// Cluster: it cannot do without the cluster.
	Cluster
)

// Flags say where the configuration, the credentials and the Nodes are.
type Flags struct {
	// Need is set by the command.
	Need Need
	// Config is the path of the configuration file; FromCluster looks for it in the cluster.
	Config      string
	FromCluster bool
	// Namespace and Selector say which Pods are the daemon's.
	Namespace, Selector string
	// Kubeconfig and Context are as those of kubectl.
	Kubeconfig, Context string
	// Credentials are files with Secrets, for Secrets that the configuration names.
	Credentials []string
	// UUIDs and Machines are machines in place of Nodes, by UUID and by name.
	UUIDs, Machines []string
	// Folder is an inventory path, of which all machines below stand in place of Nodes.
	Folder string
	// Timeout bounds the reading of all vCenters. What is not read by then has failed.
	Timeout time.Duration
	// Follow is set by a command that does not need the machines of all Nodes. It returns those
	// that are read, by what the Nodes say.
	Follow func(*World) []inventory.Identity
	// NodesOptional is set by a command that goes on without the Nodes if it may not list them.
	NodesOptional bool
	// Beside is called once with the configuration, by a command that asks something of the
	// vCenters while they are read. It returns at once. Nil for nothing.
	Beside func(*config.Config)
	// Verbose is up to which level the log of the daemon's packages goes to standard error,
	// 0 for none.
	Verbose int
	// Watch is set for World.Refresh: vCenters that fail are tried again, as the daemon does.
	Watch bool
}

// Add adds the flags to those of a command.
func (f *Flags) Add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.Config, "config", "c", "", "the configuration file")
	fs.BoolVar(&f.FromCluster, "from-cluster", false, "take configuration, credentials and flags from the daemon in the cluster, which is found by its Pods")
	fs.StringVar(&f.Namespace, "namespace", "", "the namespace of the daemon's Pods; by default all are searched")
	fs.StringVar(&f.Selector, "selector", "", "the labels of the daemon's Pods; by default those of the manifests and charts of vzones and the vSphere CPI")
	fs.StringSliceVar(&f.Credentials, "credentials", nil, "manifests of the Secrets that the configuration names, in place of those of the cluster")
	fs.StringVar(&f.Kubeconfig, "kubeconfig", "", "the kubeconfig; by default that of kubectl")
	fs.StringVar(&f.Context, "context", "", "the context of the kubeconfig; by default the current one")
	fs.DurationVar(&f.Timeout, "timeout", time.Minute, "how long the vCenters have to answer, 1s at least; one that is not read by then has failed")
	fs.IntVarP(&f.Verbose, "verbose", "v", 0, fmt.Sprintf("show on standard error what the packages of the daemon log, up to this level (1 to %d)", mostVerbose))
	if f.Need == NodesOrMachines {
		fs.StringSliceVar(&f.UUIDs, "uuid", nil, "in place of the cluster's Nodes: machines by their BIOS UUIDs")
		fs.StringSliceVar(&f.Machines, "vm", nil, "in place of the cluster's Nodes: machines by their names")
		fs.StringVar(&f.Folder, "folder", "", "in place of the cluster's Nodes: all machines below an inventory path, such as /dc1/vm/cluster-a")
	}
}

// leastTimeout is less than the shortest reading takes, and as long as the daemon's shortest login.
const leastTimeout = time.Second

// check returns what is wrong with the values of the flags.
func (f *Flags) check() error {
	switch {
	case f.Config != "" && f.FromCluster:
		return errors.New("--config and --from-cluster are both set: write one of the two")
	case f.Config == "" && !f.FromCluster:
		return errors.New("there is no configuration: write --config FILE, or --from-cluster")
	case f.Timeout < leastTimeout:
		return fmt.Errorf("--timeout is %v: write at least %v", f.Timeout, leastTimeout)
	case f.Verbose > mostVerbose:
		return fmt.Errorf("--verbose is %d: write 1 to %d", f.Verbose, mostVerbose)
	case (f.Namespace != "" || f.Selector != "") && !f.FromCluster:
		return errors.New("--namespace and --selector say where the daemon is: write --from-cluster with them")
	case f.Folder != "" && !path.IsAbs(f.Folder):
		return fmt.Errorf("--folder is %q: write an inventory path, such as /dc1/vm/cluster-a", f.Folder)
	}
	return nil
}

// withoutCluster reports whether machines stand in for Nodes.
func (f *Flags) withoutCluster() bool {
	return len(f.UUIDs) > 0 || len(f.Machines) > 0 || f.Folder != ""
}

// mostVerbose is the highest level of the log: from 6 on clients log requests, and at 8 what is in
// them.
const mostVerbose = 5

// withLog returns a context whose log goes to standard error, if it is to be shown.
func (f *Flags) withLog(ctx context.Context) context.Context {
	if f.Verbose <= 0 {
		return ctx
	}
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(f.Verbose))))
}
