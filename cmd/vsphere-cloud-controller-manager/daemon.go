package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/tools/leaderelection"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/controller-manager/pkg/leadermigration"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/secrets"
	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodes"
)

// stopTimeout bounds the end of the daemon: logging out of all vCenters takes
// at most 3 s, and the whole process has 5.
const stopTimeout = 4 * time.Second

// configTimeout bounds the reading of a configuration that is in a Secret.
const configTimeout = 10 * time.Second

// daemon owns what runs beside the framework: the fleet and the provider.
type daemon struct {
	ctx    context.Context //nolint:containedctx // the framework's callbacks carry none
	cancel context.CancelFunc
	// end ends the framework; failure is why, where it is not a signal.
	end     func()
	failure atomic.Pointer[error]

	group errgroup.Group
	once  sync.Once
	// fence stands before all writes to Nodes. election is nil unless there is one.
	fence    fence
	election *election

	flags  flags
	source source
	// reviews say how the framework has tokens reviewed.
	reviews *genericoptions.DelegatingAuthenticationOptions
	// cfg is the configuration at the start.
	cfg      *config.Config
	provider *provider.Provider
	nodes    *nodes.Controller
}

// legacyRegistry is the registry that /metrics of the framework shows.
type legacyRegistry struct{}

func (legacyRegistry) MustRegister(m ...metrics.Registerable) { legacyregistry.MustRegister(m...) }
func (legacyRegistry) CustomMustRegister(m ...metrics.StableCollector) {
	legacyregistry.CustomMustRegister(m...)
}

// newDaemon returns a daemon that ends with the context. End is to end the
// framework.
func newDaemon(ctx context.Context, end func()) *daemon {
	d := &daemon{end: end}
	d.ctx, d.cancel = context.WithCancel(ctx)
	return d
}

// configure reads the configuration file, and the environment variables that
// override it; it contacts nothing. A Secret is read later.
func (d *daemon) configure(name, file string) error {
	if name != provider.Name {
		return fmt.Errorf("--cloud-provider is %q; this is the provider %q", name, provider.Name)
	}
	var err error
	if d.source, err = newSource(file, d.flags.configSecret, os.Environ()); err != nil {
		return err
	}
	if err := d.source.addLabels(d.flags.nodeLabels); err != nil {
		return err
	}
	if d.source.inSecret() {
		return nil
	}
	cfg, err := d.source.read(d.ctx, nil)
	if err == nil {
		d.cfg = cfg
	}
	return err
}

// provide makes the provider for the framework, starts what runs beside it, and
// returns when this process leads. Where it never will, the goroutine ends, and with
// it the framework.
func (d *daemon) provide(c *appconfig.CompletedConfig) cloudprovider.Interface {
	if err := d.prepare(c); err != nil {
		d.fail(err)
		runtime.Goexit()
	}
	if !d.lead() {
		runtime.Goexit()
	}
	return d.provider
}

// prepare makes the provider and starts what runs beside the framework.
func (d *daemon) prepare(c *appconfig.CompletedConfig) error {
	if err := keepTokens(d.ctx, c, d.reviews); err != nil {
		return err
	}
	c.ClientBuilder = fencedBuilder{c.ClientBuilder, &d.fence}
	client := c.ClientBuilder.ClientOrDie(provider.ClientName)
	if d.source.inSecret() {
		ctx, cancel := context.WithTimeout(d.ctx, configTimeout)
		defer cancel()
		var err error
		if d.cfg, err = d.source.read(ctx, secrets.Once{Client: client}); err != nil {
			return err
		}
	}
	d.summary(c).log(d.ctx)
	warn(d.ctx, nil, d.cfg)
	if !genericapp.IsControllerEnabled(topologyController, app.ControllersDisabledByDefault, c.ComponentConfig.Generic.Controllers) {
		klog.FromContext(d.ctx).Info("The labels of initialized Nodes are not kept true, since --controllers leaves the controller out", "controller", topologyController)
	}
	watchdog := leaderelection.NewLeaderHealthzAdaptor(watchdogTime)
	if err := d.stand(c, watchdog); err != nil {
		return err
	}
	l := newLive(d, client, c.ClientBuilder.ClientOrDie(provider.ClientName))
	d.provider, d.nodes = l.provider, l.nodes
	legacyregistry.CustomMustRegister(
		newLeading(d.provider.Started()),
		newStates(d.provider.Started(), l.fleet, d.nodes.Outcomes),
		newTopologyStats(d.nodes.Stats),
		newKeptNodes(d.provider.Started(), d.nodes.Kept),
	)
	ready := &readiness{leads: d.provider.Started(), warm: d.warm(), states: l.fleet.States}
	needs := needs(d.cfg, d.servesWithOwnRights(c), ownPod(os.Getenv))
	if err := serve(c, watchdog, ready, d.ctx.Done()); err != nil {
		return fmt.Errorf("serving on the secure port: %w", err)
	}
	l.start(d, c.SharedInformers)
	d.group.Go(func() error {
		tellRights(d.ctx, c.ClientBuilder, c.Client, needs)
		return nil
	})
	return nil
}

// servesWithOwnRights reports whether there is a port, and who asks there is found out
// with the daemon's own credentials.
func (d *daemon) servesWithOwnRights(c *appconfig.CompletedConfig) bool {
	own := c.ComponentConfig.Generic.ClientConnection.Kubeconfig
	return c.SecureServing != nil && d.reviews.RemoteKubeConfigFile == own
}

// stand prepares an election if there is to be one. During a migration of controllers
// from another binary there are two Leases, which the framework holds itself, and keeps
// when the process ends.
func (d *daemon) stand(c *appconfig.CompletedConfig, watchdog *leaderelection.HealthzAdaptor) error {
	generic := &c.ComponentConfig.Generic
	if !generic.LeaderElection.LeaderElect {
		return nil
	}
	if leadermigration.Enabled(generic) {
		klog.FromContext(d.ctx).Info("With --enable-leader-migration the Lease is not released at the end, and /healthz does not watch the leader election")
		return nil
	}
	lock, end, err := newLock(d.ctx, c)
	if err != nil {
		return err
	}
	d.election, err = newElection(lock, end, &generic.LeaderElection, watchdog, func() {
		d.fence.lower()
		d.fail(errLost)
	})
	// The framework's own would keep the Lease.
	generic.LeaderElection.LeaderElect = false
	return err
}

// warm reports whether this process follows the vCenters while it waits to lead.
func (d *daemon) warm() bool { return d.flags.warmStandby && d.election != nil }

// lead waits until this process leads, and reports whether it does.
func (d *daemon) lead() bool {
	if d.election != nil {
		d.election.run(d.ctx)
		if !await(d.ctx, d.election.leads) {
			return false
		}
	}
	if d.ctx.Err() != nil {
		return false
	}
	d.fence.raise()
	return true
}

// fail ends the framework for an error that it takes none of from provide.
func (d *daemon) fail(err error) {
	d.failure.CompareAndSwap(nil, &err)
	d.end()
}

// failed returns why the framework was ended, nil for a signal.
func (d *daemon) failed() error {
	if err := d.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// stop ends what provide started and waits for it, though not for ever. The Lease is
// released once nothing is written any more and no session is left. What has not ended
// by then keeps it, until it expires.
func (d *daemon) stop() {
	d.once.Do(func() {
		d.cancel()
		idle := d.fence.lower()
		done := make(chan error, 1)
		go func() {
			err := d.group.Wait()
			<-idle
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				klog.FromContext(d.ctx).Error(err, "Stopped with an error")
			}
			if d.election != nil {
				d.election.release(d.ctx)
			}
		case <-time.After(stopTimeout):
			klog.FromContext(d.ctx).Info("Stopped without waiting any longer", "waited", stopTimeout)
		}
		klog.Flush()
	})
}
