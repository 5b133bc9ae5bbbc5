// Command floor is what the framework itself costs: its command with the flags
// and the defaults of cmd/vsphere-cloud-controller-manager, and a provider that
// answers from a constant. No provider can be faster in that framework.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register"          // as the daemon
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as the daemon
	_ "k8s.io/component-base/metrics/prometheus/version"  // as the daemon
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	setDefaults(opts)
	provide := func(*appconfig.CompletedConfig) cloudprovider.Interface { return provider{} }
	cmd := app.NewCloudControllerManagerCommand(opts, provide, controllers(), names.CCMControllerAliases(), cliflag.NamedFlagSets{}, ctx.Done())
	setFlagDefaults(cmd)
	if err := cli.RunNoErrOutput(cmd); err != nil {
		return 1 // the framework has printed it
	}
	return 0
}

// setDefaults and setFlagDefaults are those of cmd/vsphere-cloud-controller-manager.
// The benchmark compares the defaults of both.
func setDefaults(opts *options.CloudControllerManagerOptions) {
	opts.KubeCloudShared.CloudProvider.Name = name
	opts.NodeController.ConcurrentNodeSyncs = 30
	opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = 4
	opts.Generic.ClientConnection.QPS = 1000
	opts.Generic.ClientConnection.Burst = 2000
	opts.Generic.LeaderElection.RetryPeriod.Duration = 750 * time.Millisecond
}

func setFlagDefaults(cmd *cobra.Command) {
	if f := cmd.Flags().Lookup("concurrent-node-status-updates"); f != nil {
		f.DefValue = "4"
		_ = f.Value.Set(f.DefValue)
	}
}

// controllers are those that a provider with Nodes only has a use for.
func controllers() map[string]app.ControllerInitFuncConstructor {
	all := map[string]app.ControllerInitFuncConstructor{}
	for _, name := range []string{names.CloudNodeController, names.CloudNodeLifecycleController} {
		all[name] = app.DefaultInitFuncConstructors[name]
	}
	return all
}
