package source

import (
	"fmt"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
)

// minTagRefresh protects the vCenters from a mistyped value.
const minTagRefresh = 100 * time.Millisecond

// minSnapshotAge keeps Nodes from waiting for each response of a vCenter.
const minSnapshotAge = time.Second

// minLoginTimeout prevents a mistyped value from canceling each login, which leaves a session in the vCenter.
const minLoginTimeout = time.Second

// Flags are the daemon's own flags.
type Flags struct {
	TagRefresh     time.Duration
	MaxSnapshotAge time.Duration
	LoginTimeout   time.Duration
	ConfigSecret   string
	NodeLabels     []string
	AbsenceHold    time.Duration
}

// Sets returns the flags for the framework's command.
func (f *Flags) Sets() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	set := sets.FlagSet("vsphere")
	set.StringVar(&f.ConfigSecret, "cloud-config-secret", "",
		"In place of --cloud-config: the Secret that holds the configuration, as NAMESPACE/NAME or NAMESPACE/NAME:KEY. "+
			"Without KEY it is csi-vsphere.conf, the CSI driver's, or the only one that there is. It is watched.")
	set.StringArrayVar(&f.NodeLabels, "node-labels", nil,
		"Labels that each Node gets if it lacks them, as KEY=VALUE,KEY=VALUE, besides those of nodes.labels in the configuration. "+
			"It may be there several times. If a key is repeated, the last value is used. Those of kubernetes.io and k8s.io are dropped.")
	set.DurationVar(&f.TagRefresh, "tag-refresh", 30*time.Second,
		"Time between two readings of the tags above the Nodes' VMs, which vCenter does not announce. "+
			"At least 100ms. VMs of Nodes without a UUID are looked for by name as often. Everything else is seen when it happens.")
	set.DurationVar(&f.MaxSnapshotAge, "max-snapshot-age", 5*time.Minute,
		"How long ago a vCenter may have answered last for a Node to be initialized by what it said. "+
			"Nodes of a vCenter that is unreachable for longer wait until it answers. Nodes that are initialized keep what they have. At least 1s.")
	set.DurationVar(&f.LoginTimeout, "login-timeout", 90*time.Second,
		"Time that a login to a vCenter may take, which may have to ask a directory. All other requests have 15s. "+
			"At least 1s. A login that takes longer is tried again after minutes, since it may leave a session in the vCenter.")
	set.DurationVar(&f.AbsenceHold, "deletion-hold", 5*time.Minute,
		"How long a vCenter has to be read without a break, after an outage or a new login, before the Node of a VM that it lacks is deleted. "+
			"For a VM that this process has never seen, the time also starts at the first reading. "+
			"It holds until each host was connected at a time, too, for up to twelve times as long. 0 means neither.")
	return sets
}

// Check returns an error for the first value out of bounds.
func (f *Flags) Check() error {
	if f.TagRefresh < minTagRefresh {
		return fmt.Errorf("--tag-refresh is %v: write at least %v", f.TagRefresh, minTagRefresh)
	}
	if f.MaxSnapshotAge < minSnapshotAge {
		return fmt.Errorf("--max-snapshot-age is %v: write at least %v", f.MaxSnapshotAge, minSnapshotAge)
	}
	if f.LoginTimeout < minLoginTimeout {
		return fmt.Errorf("--login-timeout is %v: write at least %v", f.LoginTimeout, minLoginTimeout)
	}
	return nil
}
