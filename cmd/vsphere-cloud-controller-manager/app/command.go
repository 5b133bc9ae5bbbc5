package app

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"

	"vzones/cmd/vsphere-cloud-controller-manager/app/logging"
)

// execute does what component-base's cli.RunNoErrOutput does, which with the race detector
// logs before the format of the log is known.
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

// newCommand returns the framework's command with our provider.
func (a *App) newCommand(ctx context.Context, opts *options.CloudControllerManagerOptions) *cobra.Command {
	// runFramework makes the provider, and the command's own Run is not used.
	cmd := app.NewCloudControllerManagerCommand(opts, nil, a.controllers(ctx), aliases(), a.flags.Sets(), ctx.Done())
	cmd.Use = "vsphere-cloud-controller-manager"
	cmd.Long = long
	cmd.SilenceUsage = true
	cmd.SetArgs(a.args)
	setFlagDefaults(cmd)
	gates := ignoreUnknownGates(cmd.Flags())
	// The framework contacts the API server before it makes the provider. A mistake in the
	// configuration is reported before anything is contacted.
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if printed, err := printVersion(cmd); printed || err != nil { // which needs no configuration
			return err
		}
		if !a.KeepLogging {
			if err := logging.Apply(ctx, cmd.Flags()); err != nil {
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
		a.began = true
		set := &cobra.Command{}
		cmd.Flags().Visit(set.Flags().AddFlag) // the flags on the command line
		cliflag.PrintFlags(set.Flags())
		return a.runFramework(ctx, opts)
	}
	return cmd
}

// runFramework does what the framework's command does, which prints its errors itself,
// whatever the format of the log is.
func (a *App) runFramework(ctx context.Context, opts *options.CloudControllerManagerOptions) error {
	controllers := a.controllers(ctx)
	logProxy(ctx, opts)
	opts.WebhookServing = nil // there are no webhooks, and its certificate takes two RSA keys to make
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
