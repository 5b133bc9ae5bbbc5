package world

import (
	"time"

	"github.com/spf13/pflag"

	"vzones/vcenter/inventory"
)

// A Need is what a command needs beside the vCenters.
type Need int

// The needs.
const (
	// NoNodes: it asks nothing about Nodes.
	NoNodes Need = iota
	// NodesIfAny: it uses the Nodes of the cluster if there is a kubeconfig.
	NodesIfAny
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
	// Kubeconfig and Context are as those of kubectl.
	Kubeconfig, Context string
	// Credentials are files with Secrets, for Secrets that the configuration names.
	Credentials []string
	// UUIDs and Machines are machines in place of Nodes, by UUID and by name.
	UUIDs, Machines []string
	// Timeout bounds the reading of all vCenters.
	Timeout time.Duration
	// Follow is set by a command that does not need the machines of all Nodes. It returns those
	// that are read, by what the Nodes say.
	Follow func(*World) []inventory.Identity
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
