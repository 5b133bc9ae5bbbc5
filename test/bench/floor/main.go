// Command floor is the lower bound for the cost of a cloud controller manager: the framework's own
// command with a provider that returns constants. The benchmark runs it with the flag defaults of
// cmd/vsphere-cloud-controller-manager.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/cli"
	cliflag "k8s.io/component-base/cli/flag"

	// The daemon registers the same packages.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
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
	provide := func(*appconfig.CompletedConfig) cloudprovider.Interface { return provider{} }
	cmd := app.NewCloudControllerManagerCommand(opts, provide, controllers(), names.CCMControllerAliases(), cliflag.NamedFlagSets{}, ctx.Done())
	if err := cli.RunNoErrOutput(cmd); err != nil {
		return 1 // already printed by the framework
	}
	return 0
}

func controllers() map[string]app.ControllerInitFuncConstructor {
	constructors := map[string]app.ControllerInitFuncConstructor{}
	for _, name := range []string{names.CloudNodeController, names.CloudNodeLifecycleController} {
		constructors[name] = app.DefaultInitFuncConstructors[name]
	}
	return constructors
}
