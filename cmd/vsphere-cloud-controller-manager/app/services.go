package app

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"vzones/cmd/vsphere-cloud-controller-manager/app/election"
	"vzones/cmd/vsphere-cloud-controller-manager/app/files"
	"vzones/cmd/vsphere-cloud-controller-manager/app/metrics"
	"vzones/cmd/vsphere-cloud-controller-manager/app/pod"
	"vzones/cmd/vsphere-cloud-controller-manager/app/reload"
	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/cmd/vsphere-cloud-controller-manager/app/vcenters"
	"vzones/config"
	"vzones/internal/signal"
	"vzones/provider"
	"vzones/provider/nodes"
	"vzones/vcenter"
)

// configTimeout bounds the reading of a configuration that is in a Secret.
const configTimeout = 10 * time.Second

// services are what the configuration makes, and what applies its changes.
type services struct {
	source   *source.Source
	cfg      *config.Config // of the start
	client   kubernetes.Interface
	fleet    *vcenter.Fleet
	provider *provider.Provider
	nodes    *nodes.Controller
	secrets  *secrets.Watcher
	files    *files.Watcher
	reloads  *metrics.Reloads
	// secretChanged goes from secrets to reloadChanges when a Secret has changed.
	secretChanged signal.Signal
}

// newServices makes the services of the configuration at the start. It starts none.
func (a *App) newServices(client, forNodes kubernetes.Interface, o provider.Options) *services {
	s := &services{source: &a.source, cfg: a.cfg, client: client, files: files.New(), secretChanged: signal.New()}
	s.secrets = secrets.New(client, s.secretChanged.Notify)
	s.watch(a.cfg)
	s.reloads = metrics.NewReloads(a.Metrics)
	revision := func(ctx context.Context) string { return s.source.Revision(ctx, s.secrets) }
	s.fleet = vcenter.NewFleet(a.cfg.VCenters, (&source.CredentialFinder{Secrets: s.secrets, Revision: revision}).Find, vcenter.Options{
		Requirements: vcenter.RequirementsOf(a.cfg),
		LoginTimeout: a.flags.LoginTimeout,
		TagRefresh:   a.flags.TagRefresh,
		AbsenceHold:  a.flags.AbsenceHold,
		Observer:     metrics.NewObserver(a.Metrics),
	})
	s.provider = provider.New(s.fleet, a.cfg, o)
	s.nodes = nodes.New(s.fleet, s.provider.Placer(), s.provider.Checker(), forNodes)
	return s
}

// apply puts a configuration in force. The provider gets it before the fleet reports what that
// changes.
func (s *services) apply(cfg *config.Config) {
	s.watch(cfg)
	s.provider.Apply(cfg)
	s.fleet.Apply(cfg.VCenters, vcenter.RequirementsOf(cfg))
}

// watch watches the files and Secrets that a configuration is made of.
func (s *services) watch(cfg *config.Config) {
	paths, refs := s.sources(cfg)
	s.files.Apply(paths)
	s.secrets.Apply(refs)
}

// sources returns the files, directories and Secrets that a configuration is made of.
func (s *services) sources(cfg *config.Config) (paths []string, refs []config.SecretRef) {
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

// watchFiles watches files besides those of the running configuration.
func (s *services) watchFiles(current *config.Config, files []string) {
	paths, _ := s.sources(current)
	s.files.Apply(append(paths, files...))
}

// start starts what runs beside the framework. A process that waits to lead applies changes
// of its configuration, and reads no vCenter.
func (a *App) start(ctx context.Context, s *services) {
	a.group.Go(func() error { return s.nodes.Run(ctx) })
	a.group.Go(func() error { return s.reloadChanges(ctx) })
	a.group.Go(func() error {
		if !election.Await(ctx, s.provider.Started()) {
			return nil
		}
		return s.fleet.Run(ctx)
	})
}

// reloadChanges applies what changes in files and Secrets until the context is done.
func (s *services) reloadChanges(ctx context.Context) error {
	own, end := pod.NewRecorder(ctx, s.client)
	defer end()
	reloader := reload.New(s.cfg, reload.Options{
		Read: s.read, Apply: s.apply, WatchFiles: s.watchFiles, Record: own.Record, Counts: s.reloads,
	})
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.secrets.Run(ctx) })
	g.Go(func() error { return s.files.Run(ctx) })
	g.Go(func() error { return (&vcenters.Recorder{Health: s.fleet.Health, Record: own.Record}).Run(ctx) })
	g.Go(func() error {
		for {
			select {
			case <-s.files.Changes():
			case <-s.secretChanged:
			case <-ctx.Done():
				return nil
			}
			reloader.Reload(ctx)
			s.fleet.CredentialsChanged()
		}
	})
	return g.Wait()
}

// read reads the configuration as it is now.
func (s *services) read(ctx context.Context) (*config.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, configTimeout)
	defer cancel()
	return s.source.Read(ctx, s.secrets)
}
