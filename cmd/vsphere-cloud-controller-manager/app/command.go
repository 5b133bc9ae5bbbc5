package app

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/version"
	"k8s.io/component-base/version/verflag"

	"vzones/cmd/vsphere-cloud-controller-manager/app/election"
	"vzones/provider"
)

const long = `vsphere-cloud-controller-manager sets the region and zone of the Nodes of a
Kubernetes cluster from the vSphere tags above their VMs, and their provider
ID, instance type and addresses. It reads a whole fleet of vCenters at once. It
replaces the vSphere CPI and accepts its configuration file.

  vsphere-cloud-controller-manager --cloud-config=/etc/cloud/vsphere.conf`

// execute replaces component-base's cli.RunNoErrOutput, which with the race detector logs before the
// format of the log is known.
func (a *App) execute(cmd *cobra.Command) error {
	defer logs.FlushLogs()
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	cmd.SilenceErrors = true
	logs.AddFlags(cmd.PersistentFlags())
	if !a.KeepLogging {
		cmd.PersistentPreRun = func(*cobra.Command, []string) { logs.InitLogs() }
	}
	return cmd.Execute()
}

func (a *App) newCommand(ctx context.Context, opts *options.CloudControllerManagerOptions) *cobra.Command {
	// The command's own Run is not used, since runFramework makes the provider.
	cmd := app.NewCloudControllerManagerCommand(opts, nil, a.controllers(ctx), aliases(), a.flags.Sets(), ctx.Done())
	cmd.Use = "vsphere-cloud-controller-manager"
	cmd.Long = long
	cmd.SilenceUsage = true
	cmd.SetArgs(a.args)
	setFlagDefaults(cmd)
	gates := ignoreUnknownGates(cmd.Flags())
	// An error in the configuration is reported before the framework contacts the API server.
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if printed, err := printVersion(cmd); printed || err != nil {
			return err
		}
		if !a.KeepLogging {
			if err := applyLogging(ctx, cmd.Flags()); err != nil {
				return err
			}
		}
		gates.log(ctx)
		if err := a.flags.Check(); err != nil {
			return err
		}
		return a.configure(ctx, opts.KubeCloudShared.CloudProvider.Name, opts.KubeCloudShared.CloudProvider.CloudConfigFile)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		a.isConfigured = true
		given := pflag.NewFlagSet("command line", pflag.ContinueOnError)
		cmd.Flags().Visit(given.AddFlag)
		cliflag.PrintFlags(given)
		return a.runFramework(ctx, opts)
	}
	return cmd
}

// runFramework replaces the Run of the framework's command, which prints errors outside of the log.
func (a *App) runFramework(ctx context.Context, opts *options.CloudControllerManagerOptions) error {
	controllers := a.controllers(ctx)
	logProxy(ctx, opts)
	// There are no webhooks, and the certificate of their server needs two RSA keys.
	opts.WebhookServing = nil
	c, err := opts.Config(app.ControllerNames(controllers), app.ControllersDisabledByDefault.List(), aliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	if err != nil {
		return err
	}
	completed := c.Complete()
	if err := a.prepare(ctx, completed, opts.Authorization.AlwaysAllowPaths); err != nil {
		return err
	}
	if !a.lead(ctx) {
		return nil
	}
	initializers := app.ConstructControllerInitializers(controllers, completed, a.provider)
	return app.Run(completed, a.provider, initializers, map[string]app.WebhookHandler{}, ctx.Done())
}

// setDefaults raises the framework's defaults, which protect cloud APIs that are called for every Node.
// Here the answers are in memory, and the API server protects itself.
func setDefaults(opts *options.CloudControllerManagerOptions) {
	opts.KubeCloudShared.CloudProvider.Name = provider.Name
	opts.NodeController.ConcurrentNodeSyncs = 30
	opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = 4
	opts.Generic.LeaderElection.RetryPeriod.Duration = election.RetryPeriod
	opts.Generic.ClientConnection.QPS = 1000
	opts.Generic.ClientConnection.Burst = 2000
}

// setFlagDefaults sets a default that is not in the options.
func setFlagDefaults(cmd *cobra.Command) {
	if f := cmd.Flags().Lookup("concurrent-node-status-updates"); f != nil {
		f.DefValue = "4"
		_ = f.Value.Set(f.DefValue)
	}
}

// printVersion handles --version. Only --version=raw prints the framework's line, which presents vzones as a
// version of Kubernetes.
func printVersion(cmd *cobra.Command) (printed bool, err error) {
	if f := cmd.Flags().Lookup("version"); f == nil || f.Value.String() != "true" {
		verflag.PrintAndExitIfRequested()
		return false, nil
	}
	cmd.RunE = func(*cobra.Command, []string) error { return nil }
	v := version.Get()
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "vzones %s\ncommit %s, %s, %s\n", v.GitVersion, v.GitCommit, v.GoVersion, v.Platform)
	return true, err
}
