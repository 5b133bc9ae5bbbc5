package app

import (
	"github.com/spf13/cobra"
	"k8s.io/cloud-provider/options"

	"vzones/cmd/vsphere-cloud-controller-manager/app/election"
	"vzones/provider"
)

const long = `vsphere-cloud-controller-manager gives the Nodes of a Kubernetes cluster their
region and zone from the vSphere tags above their machines, and their provider
ID, instance type and addresses. It reads a whole fleet of vCenters at once and
takes the configuration file of the vSphere CPI, which it replaces.

  vsphere-cloud-controller-manager --cloud-config=/etc/cloud/vsphere.conf`

// setDefaults sets the flags' defaults. The framework's own (1 worker, 20 requests a second)
// protect cloud APIs that are called for every Node. Here the answers come from memory, and the
// API server, which bounds the work, protects itself.
func setDefaults(opts *options.CloudControllerManagerOptions) {
	opts.KubeCloudShared.CloudProvider.Name = provider.Name
	opts.NodeController.ConcurrentNodeSyncs = 30
	opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = 4
	opts.Generic.LeaderElection.RetryPeriod.Duration = election.RetryPeriod
	opts.Generic.ClientConnection.QPS = 1000
	opts.Generic.ClientConnection.Burst = 2000
}

// setFlagDefaults sets the default of the flag that the framework registers
// with one of its own, whatever the options hold.
func setFlagDefaults(cmd *cobra.Command) {
	if f := cmd.Flags().Lookup("concurrent-node-status-updates"); f != nil {
		f.DefValue = "4"
		_ = f.Value.Set(f.DefValue)
	}
}
