package settings

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
	DeletionHold   time.Duration
}

// Sets returns the flags for the framework's command.
func (f *Flags) Sets() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	set := sets.FlagSet("vsphere")
	set.StringVar(&f.ConfigSecret, "cloud-config-secret", "",
		"Secret that contains the configuration, instead of --cloud-config, as NAMESPACE/NAME or NAMESPACE/NAME:KEY. "+
			"KEY defaults to csi-vsphere.conf, the CSI driver's key, or to the only key of the Secret. The Secret is watched.")
	set.StringArrayVar(&f.NodeLabels, "node-labels", nil,
		"Labels to add to each Node that lacks them, as KEY=VALUE,KEY=VALUE, besides nodes.labels in the configuration. "+
			"May be repeated. If a key is repeated, the last value is used. Labels of kubernetes.io and k8s.io are dropped.")
	set.DurationVar(&f.TagRefresh, "tag-refresh", 30*time.Second,
		"Interval between reads of the tags above the Nodes' VMs, which vCenter does not announce. "+
			"At least 100ms. VMs of Nodes without a UUID are searched for by name at the same interval. All other changes are seen at once.")
	set.DurationVar(&f.MaxSnapshotAge, "max-snapshot-age", 5*time.Minute,
		"Maximum time since a vCenter's last answer for its data to initialize a Node. "+
			"If a vCenter is unreachable for longer, its new Nodes stay uninitialized until it answers. Initialized Nodes are not changed. At least 1s.")
	set.DurationVar(&f.LoginTimeout, "login-timeout", 90*time.Second,
		"Timeout of a login to a vCenter, which may have to query a directory. All other requests have 15s. "+
			"At least 1s. A login that times out is retried after minutes, since it may leave a session in the vCenter.")
	set.DurationVar(&f.DeletionHold, "deletion-hold", 5*time.Minute,
		"How long a vCenter must be read without interruption, after an outage or a new login, before the Node of a VM that it lacks is deleted. "+
			"For a VM that this process has never seen, the time also starts at the first read. "+
			"Deletion also waits until each host was connected at some time, for up to twelve times as long. 0 disables both.")
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
