package app

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	genericapp "k8s.io/controller-manager/app"

	"vzones/cmd/vsphere-cloud-controller-manager/app/dryrun"
)

// prepareDryRun has all clients write nothing.
func (a *App) prepareDryRun(c *appconfig.CompletedConfig) error {
	if a.dryRun == nil {
		return nil
	}
	c.ClientBuilder = a.dryRun.Clients(c.ClientBuilder)
	c.Kubeconfig = rest.CopyConfig(c.Kubeconfig)
	c.Kubeconfig.Wrap(a.dryRun.Wrap)
	client, err := kubernetes.NewForConfig(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("making a client that writes nothing: %w", err)
	}
	c.Client = client
	return nil
}

// startDryRun ends the daemon once a dry run has its result.
func (a *App) startDryRun(ctx context.Context, c *appconfig.CompletedConfig, s *services) {
	if a.dryRun == nil {
		return
	}
	w := &dryrun.World{
		States: s.fleet.States, Progress: s.nodes.Progress, Timeout: a.flags.DryRunTimeout,
		Initializes: genericapp.IsControllerEnabled(names.CloudNodeController, app.ControllersDisabledByDefault, c.ComponentConfig.Generic.Controllers),
	}
	a.group.Go(func() error {
		a.dryRun.Await(ctx, w)
		a.cancel()
		return nil
	})
}
