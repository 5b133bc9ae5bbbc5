package app

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"vzones/cmd/vsphere-cloud-controller-manager/app/election"
	"vzones/cmd/vsphere-cloud-controller-manager/app/metrics"
	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/cmd/vsphere-cloud-controller-manager/app/settings"
	"vzones/config"
	"vzones/internal/signal"
	"vzones/provider"
	"vzones/provider/nodes"
	"vzones/vcenter"
)

const configTimeout = 10 * time.Second

// services are built from the configuration, and apply its changes.
type services struct {
	source *settings.Source
	// cfg is the first configuration.
	cfg           *config.Config
	client        kubernetes.Interface
	fleet         *vcenter.Fleet
	provider      *provider.Provider
	nodes         *nodes.Controller
	secrets       *secrets.Watcher
	files         *fileWatcher
	reloads       *metrics.Reloads
	secretChanged signal.Signal
}

func (a *App) newServices(client, nodesClient kubernetes.Interface, o provider.Options) *services {
	s := &services{source: &a.source, cfg: a.cfg, client: client, files: newFileWatcher(), secretChanged: signal.New()}
	s.secrets = secrets.New(client, s.secretChanged.Notify)
	s.watch(a.cfg)
	s.reloads = metrics.NewReloads(a.Metrics)
	credentials := &settings.CredentialFinder{
		Secrets:  s.secrets,
		Revision: func(ctx context.Context) string { return s.source.Revision(ctx, s.secrets) },
	}
	s.fleet = vcenter.NewFleet(a.cfg.VCenters, credentials.Find, vcenter.Options{
		Requirements: vcenter.RequirementsOf(a.cfg),
		LoginTimeout: a.flags.LoginTimeout,
		TagRefresh:   a.flags.TagRefresh,
		DeletionHold: a.flags.DeletionHold,
		Observer:     metrics.NewObserver(a.Metrics),
	})
	s.provider = provider.New(s.fleet, a.cfg, o)
	s.nodes = nodes.New(s.fleet, s.provider.Store(), s.provider.Checker(), nodesClient)
	return s
}

// apply updates the provider before the fleet, so that it applies the new rules to whatever the fleet reports.
func (s *services) apply(cfg *config.Config) {
	s.watch(cfg)
	s.provider.Apply(cfg)
	s.fleet.Apply(cfg.VCenters, vcenter.RequirementsOf(cfg))
}

func (s *services) watch(cfg *config.Config) {
	paths, refs := s.watchTargets(cfg)
	s.files.apply(paths)
	s.secrets.Apply(refs)
}

func (s *services) watchTargets(cfg *config.Config) (paths []string, refs []config.SecretRef) {
	paths = slices.Clone(cfg.Files)
	if s.source.InSecret() {
		refs = append(refs, s.source.Secret)
	} else {
		paths = append(paths, s.source.File)
	}
	for i := range cfg.VCenters {
		if dir := cfg.VCenters[i].SecretsDirectory; dir != "" {
			paths = append(paths, dir)
		}
		if ref := cfg.VCenters[i].Secret; ref != (config.SecretRef{}) {
			refs = append(refs, ref)
		}
	}
	return paths, refs
}

// watchAlso watches files in addition to those of the current configuration.
func (s *services) watchAlso(current *config.Config, files []string) {
	paths, _ := s.watchTargets(current)
	s.files.apply(append(paths, files...))
}

// start starts the goroutines that the framework does not run. A standby reloads its configuration, but reads no vCenter.
func (a *App) start(ctx context.Context, s *services) {
	a.group.Go(func() error { return s.nodes.Run(ctx) })
	a.group.Go(func() error { return s.runBackground(ctx) })
	a.group.Go(func() error {
		if !election.Await(ctx, s.provider.Started()) {
			return nil
		}
		return s.fleet.Run(ctx)
	})
}

// runBackground runs until the context is done: Secrets, files, reloads and Events about vCenters.
func (s *services) runBackground(ctx context.Context) error {
	recorder, stop := newPodRecorder(ctx, s.client)
	defer stop()
	r := &reloader{
		read: s.read, apply: s.apply, watchFiles: s.watchAlso, record: recorder.record, counts: s.reloads,
		current: s.cfg,
	}
	events := &vcenterEvents{health: s.fleet.Health, record: recorder.record}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.secrets.Run(ctx) })
	g.Go(func() error { return s.files.run(ctx) })
	g.Go(func() error { return events.run(ctx) })
	g.Go(func() error {
		for {
			select {
			case <-s.files.changes:
			case <-s.secretChanged:
			case <-ctx.Done():
				return nil
			}
			r.reload(ctx)
			s.fleet.CredentialsChanged()
		}
	})
	return g.Wait()
}

func (s *services) read(ctx context.Context) (*config.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, configTimeout)
	defer cancel()
	return s.source.Read(ctx, s.secrets)
}
