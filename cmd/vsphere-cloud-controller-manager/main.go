// Command vsphere-cloud-controller-manager is the cloud controller manager for
// fleets of vCenters. The name is the one that Kubernetes' convention gives it
// and that the incumbent's manifests use.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/version"  // the build's version as a metric
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// run runs the daemon until SIGTERM or SIGINT and returns its exit status: 0
// after a signal, 1 after an error or when the lease is lost. The framework itself
// ends the process with 255 when the API server does not answer.
func run(args []string, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return 1
	}
	setDefaults(opts)
	d := newDaemon(ctx, stop)
	// The framework ends the process when the API server does not answer at the start.
	klog.OsExit = func(code int) {
		d.stop()
		os.Exit(code)
	}
	cmd, began := newCommand(ctx, opts, d)
	cmd.SetArgs(args)
	err = execute(cmd)
	stop()
	d.stop()
	failure := d.failed()
	switch {
	case failure != nil:
		tell(stderr, wantsJSON(args), failure, false)
	case err != nil:
		tell(stderr, wantsJSON(args), err, !*began)
	default:
		return 0
	}
	return 1
}

// execute does what component-base's cli.RunNoErrOutput does, which with the race detector
// logs before the format of the log is known.
func execute(cmd *cobra.Command) error {
	defer logs.FlushLogs()
	cmd.SetGlobalNormalizationFunc(cliflag.WordSepNormalizeFunc)
	cmd.SilenceErrors = true
	logs.AddFlags(cmd.PersistentFlags())
	cmd.PersistentPreRun = func(*cobra.Command, []string) { logs.InitLogs() }
	return cmd.Execute()
}

// newCommand returns the framework's command with our provider, and whether its flags
// were right, so that it began to run.
func newCommand(ctx context.Context, opts *options.CloudControllerManagerOptions, d *daemon) (*cobra.Command, *bool) {
	d.reviews = opts.Authentication
	formatErr := registerJSON()
	cmd := app.NewCloudControllerManagerCommand(opts, d.provide, d.controllers(), aliases(), d.flags.sets(), ctx.Done())
	cmd.Use = "vsphere-cloud-controller-manager"
	cmd.Long = long
	cmd.SilenceUsage = true
	setFlagDefaults(cmd)
	deprecated := deprecations(cmd.Flags())
	// The framework contacts the API server before it makes the provider, and
	// a mistaken configuration is to be told of before anything is contacted.
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		verflag.PrintAndExitIfRequested() // the version needs no configuration
		if err := cmp.Or(formatErr, applyLogging(cmd.Flags())); err != nil {
			return err
		}
		tellDeprecated(ctx, cmd.Flags(), deprecated)
		if err := d.flags.check(); err != nil {
			return err
		}
		if err := checkFiles(cmd.Flags()); err != nil {
			return err
		}
		return d.configure(opts.KubeCloudShared.CloudProvider.Name, opts.KubeCloudShared.CloudProvider.CloudConfigFile)
	}
	began := new(bool)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		*began = true
		cliflag.PrintFlags(cmd.Flags())
		done := make(chan error, 1)
		go func() {
			defer close(done) // provide may end this goroutine
			done <- runFramework(ctx, opts, d)
		}()
		return <-done
	}
	return cmd, began
}

// runFramework does what the framework's command does, which prints its errors itself,
// whatever the format of the log is.
func runFramework(ctx context.Context, opts *options.CloudControllerManagerOptions, d *daemon) error {
	controllers := d.controllers()
	c, err := opts.Config(app.ControllerNames(controllers), app.ControllersDisabledByDefault.List(), aliases(), app.AllWebhooks, app.DisabledByDefaultWebhooks)
	if err != nil {
		return err
	}
	completed := c.Complete()
	cloud := d.provide(completed) //nolint:contextcheck // the daemon has the context, since the framework's command gives its provider none
	initializers := app.ConstructControllerInitializers(controllers, completed, cloud)
	return app.Run(completed, cloud, initializers, map[string]app.WebhookHandler{}, ctx.Done())
}
