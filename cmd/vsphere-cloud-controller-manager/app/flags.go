package app

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"vzones/config/readfile"
)

// minTagRefresh keeps a mistyped value from reading a vCenter's tags all the time.
const minTagRefresh = 100 * time.Millisecond

// minSnapshotAge keeps Nodes from waiting for each response of a vCenter.
const minSnapshotAge = time.Second

// minLoginTimeout keeps a mistyped value from giving up each login, which leaves a session
// behind in the vCenter.
const minLoginTimeout = time.Second

// minDryRun is less than the shortest dry run takes.
const minDryRun = 10 * time.Second

// flags are the daemon's own flags, besides the framework's.
type flags struct {
	tagRefresh     time.Duration
	maxSnapshotAge time.Duration
	loginTimeout   time.Duration
	configSecret   string
	nodeLabels     []string
	warmStandby    bool
	dryRun         bool
	dryRunTimeout  time.Duration
}

// sets returns the flags as the framework's command takes them.
func (f *flags) sets() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	set := sets.FlagSet("vsphere")
	set.StringVar(&f.configSecret, "cloud-config-secret", "",
		"In place of --cloud-config: the Secret that holds the configuration, as NAMESPACE/NAME or NAMESPACE/NAME:KEY. "+
			"Without KEY it is csi-vsphere.conf, the CSI driver's, or the only one that there is. It is watched.")
	set.StringArrayVar(&f.nodeLabels, "node-labels", nil,
		"Labels that each Node gets when it is initialized, as KEY=VALUE,KEY=VALUE, besides those of nodes.labels in the configuration. "+
			"It may be there several times. If a key is repeated, the last value is used. Those of kubernetes.io and k8s.io are dropped.")
	set.DurationVar(&f.tagRefresh, "tag-refresh", 30*time.Second,
		"Time between two readings of the tags above the Nodes' machines, which vCenter does not announce. "+
			"At least 100ms. Machines of Nodes without a UUID are looked for by name as often. Everything else is seen when it happens.")
	set.DurationVar(&f.maxSnapshotAge, "max-snapshot-age", 5*time.Minute,
		"How long ago a vCenter may have answered last for a Node to be initialized by what it said. "+
			"Nodes of a vCenter that is unreachable for longer wait until it answers. Nodes that are initialized keep what they have. At least 1s.")
	set.DurationVar(&f.loginTimeout, "login-timeout", 90*time.Second,
		"Time that a login to a vCenter may take, which may have to ask a directory. All other requests have 15s. "+
			"At least 1s. A login that takes longer is tried again after minutes, since it may leave a session in the vCenter.")
	set.BoolVar(&f.warmStandby, "warm-standby", false,
		"While another instance leads, log in to each vCenter and watch it and the Nodes all the same, without writing to a Node, "+
			"so that this one leads without a login and a full reading. "+
			"Each standby adds as many sessions and requests as an idle leader.")
	set.BoolVar(&f.dryRun, "dry-run", false,
		"Read and decide everything, write nothing to a Node, print what would be written as a table, record it as Events with the reason DryRun, and end. "+
			"It runs beside the provider that leads: it takes no part in the leader election, serves no port, and has no other account than its own.")
	set.DurationVar(&f.dryRunTimeout, "dry-run-timeout", 5*time.Minute,
		"Time that a dry run takes at most. What is not decided by then is named with the reason, and the exit status is 2. At least 10s.")
	return sets
}

// frameworkFiles are the flags with a file that the framework reads.
var frameworkFiles = []string{
	"kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "requestheader-client-ca-file",
	"tls-cert-file", "tls-private-key-file", "leader-migration-config",
}

// checkFiles refuses files that the framework would read without end.
func checkFiles(set *pflag.FlagSet) error {
	for _, name := range frameworkFiles {
		f := set.Lookup(name)
		if f == nil || f.Value.String() == "" {
			continue
		}
		if err := readfile.Check(f.Value.String()); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}

// check returns what is wrong with the flags' values.
func (f *flags) check() error {
	if f.tagRefresh < minTagRefresh {
		return fmt.Errorf("--tag-refresh is %v: write at least %v", f.tagRefresh, minTagRefresh)
	}
	if f.maxSnapshotAge < minSnapshotAge {
		return fmt.Errorf("--max-snapshot-age is %v: write at least %v", f.maxSnapshotAge, minSnapshotAge)
	}
	if f.loginTimeout < minLoginTimeout {
		return fmt.Errorf("--login-timeout is %v: write at least %v", f.loginTimeout, minLoginTimeout)
	}
	if f.dryRun && f.dryRunTimeout < minDryRun {
		return fmt.Errorf("--dry-run-timeout is %v: write at least %v", f.dryRunTimeout, minDryRun)
	}
	return nil
}
