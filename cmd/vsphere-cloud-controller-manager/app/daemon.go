package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/leadermigration"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/election"
	"vzones/cmd/vsphere-cloud-controller-manager/app/metrics"
	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/cmd/vsphere-cloud-controller-manager/app/settings"
	"vzones/provider"
)

// addressWait limits provider.Options.AddressWait: a restarting guest reports all its addresses sooner.
const addressWait = 3 * time.Minute

// configure does no network I/O, so a configuration in a Secret is read later.
func (a *App) configure(ctx context.Context, name, file string) error {
	if name != provider.Name {
		return fmt.Errorf("--cloud-provider is %q, but only %q is supported", name, provider.Name)
	}
	var err error
	if a.source, err = settings.NewSource(file, a.flags.ConfigSecret, os.Environ()); err != nil {
		return err
	}
	if err := a.source.AddLabels(a.flags.NodeLabels); err != nil {
		return err
	}
	if a.source.InSecret() {
		return nil
	}
	cfg, err := a.source.Read(ctx, nil)
	if err == nil {
		a.cfg = cfg
	}
	return err
}

// prepare starts the goroutines beside the framework. open are the paths of the secure port that need no
// credentials.
func (a *App) prepare(ctx context.Context, c *appconfig.CompletedConfig, open []string) error {
	a.prepareClients(ctx, c)
	client := c.ClientBuilder.ClientOrDie(provider.ClientName)
	if a.source.InSecret() {
		ctx, cancel := context.WithTimeout(ctx, configTimeout)
		defer cancel()
		var err error
		if a.cfg, err = a.source.Read(ctx, secrets.Once{Client: client}); err != nil {
			return err
		}
	}
	a.logSummary(ctx, &c.ComponentConfig.Generic)
	if !genericapp.IsControllerEnabled(topologyController, app.ControllersDisabledByDefault, c.ComponentConfig.Generic.Controllers) {
		klog.FromContext(ctx).Info("Labels of initialized Nodes are not kept current, because --controllers disables the controller", "controller", topologyController)
	}
	watchdog := leaderelection.NewLeaderHealthzAdaptor(election.WatchdogTime)
	if err := a.prepareElection(ctx, c, watchdog); err != nil {
		return err
	}
	s := a.newServices(client, c.ClientBuilder.ClientOrDie(provider.ClientName), provider.Options{
		MaxSnapshotAge: a.flags.MaxSnapshotAge, TagRefresh: a.flags.TagRefresh,
		AddressWait: min(addressWait, c.ComponentConfig.NodeStatusUpdateFrequency.Duration),
	})
	a.provider = s.provider
	a.nodes = s.nodes
	leading := a.provider.Started()
	a.Metrics.CustomMustRegister(metrics.NewStates(leading, s.fleet.Health, a.nodes.Stats))
	ready := &readyHandler{leading: leading, health: s.fleet.Health, isRejected: s.reloads.IsRejected}
	if err := serve(c, watchdog, ready, open, ctx.Done()); err != nil {
		return fmt.Errorf("serving on the secure port: %w", err)
	}
	a.start(ctx, s)
	return nil
}

func (a *App) prepareClients(ctx context.Context, c *appconfig.CompletedConfig) {
	if c.ComponentConfig.KubeCloudShared.UseServiceAccountCredentials {
		klog.FromContext(ctx).Info("The flag --use-service-account-credentials has no effect: all clients use the daemon's own ServiceAccount")
	}
	c.ClientBuilder = clientbuilder.SimpleControllerClientBuilder{ClientConfig: a.fence.Config(c.Kubeconfig)}
}

// prepareElection leaves a migration of controllers to the framework, which holds two Leases for it.
func (a *App) prepareElection(ctx context.Context, c *appconfig.CompletedConfig, watchdog *leaderelection.HealthzAdaptor) error {
	generic := &c.ComponentConfig.Generic
	if !generic.LeaderElection.LeaderElect {
		return nil
	}
	if leadermigration.Enabled(generic) {
		klog.FromContext(ctx).Info("With --enable-leader-migration, the Lease is not released on shutdown, and /healthz does not check the leader election")
		return nil
	}
	lock, end, err := election.NewLock(ctx, c)
	if err != nil {
		return err
	}
	a.election, err = election.New(ctx, lock, end, &generic.LeaderElection, watchdog, func() {
		a.fence.Close()
		a.fail(election.ErrLost)
	})
	// The framework's own election would keep the Lease on shutdown.
	generic.LeaderElection.LeaderElect = false
	return err
}

func (a *App) lead(ctx context.Context) bool {
	if a.election != nil {
		a.election.Run(ctx)
		if !election.Await(ctx, a.election.Leading()) {
			return false
		}
	}
	if ctx.Err() != nil {
		return false
	}
	a.fence.Open()
	return true
}
