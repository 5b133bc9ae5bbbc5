package main

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"vzones/cmd/vsphere-cloud-controller-manager/files"
	"vzones/cmd/vsphere-cloud-controller-manager/secrets"
	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodes"
	"vzones/vcenter"
)

// live is what the configuration makes, and what follows its changes.
type live struct {
	source   *source
	client   kubernetes.Interface
	fleet    *vcenter.Fleet
	provider *provider.Provider
	nodes    *nodes.Controller
	secrets  *secrets.Watcher
	files    *files.Watcher
	reloader *reloader
	// changed has a token when a Secret has changed.
	changed chan struct{}
}

func newLive(d *daemon, client, forNodes kubernetes.Interface) *live {
	l := &live{source: &d.source, client: client, files: files.New(), changed: make(chan struct{}, 1)}
	l.secrets = secrets.New(client, func() {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	})
	l.watch(d.cfg)
	registry := legacyRegistry{}
	l.fleet = vcenter.NewFleet(d.cfg.VCenters, (&accounts{l.secrets}).credentials, vcenter.Options{
		Wanted:       wanted(d.cfg),
		LoginTimeout: d.flags.loginTimeout,
		LoginLimits:  loginLimits(d.warm()),
		TagRefresh:   d.flags.tagRefresh,
		Observer:     newObserver(registry),
	})
	l.provider = provider.New(l.fleet, d.cfg, provider.Options{MaxSnapshotAge: d.flags.maxSnapshotAge, TagRefresh: d.flags.tagRefresh})
	l.nodes = nodes.New(l.fleet, l.provider.Placer(), l.provider.Checker(), forNodes)
	l.reloader = &reloader{
		read: func(ctx context.Context) (*config.Config, error) {
			ctx, cancel := context.WithTimeout(ctx, configTimeout)
			defer cancel()
			return l.source.read(ctx, l.secrets)
		},
		apply:   l.apply,
		repair:  l.watchToo,
		current: d.cfg,
		pod:     &pod{},
		counts:  newReloads(registry),
	}
	return l
}

// apply puts a configuration in force. The provider knows it before the fleet
// announces what that changes.
func (l *live) apply(cfg *config.Config) {
	l.watch(cfg)
	l.provider.Apply(cfg)
	l.fleet.Apply(cfg.VCenters, wanted(cfg))
}

// loginLimits keep the failures of up to five instances that all log in with the same
// credentials below those that lock an account.
func loginLimits(warm bool) vcenter.LoginLimits {
	if warm {
		return vcenter.LoginLimits{Failures: 1}
	}
	return vcenter.LoginLimits{}
}

func wanted(cfg *config.Config) vcenter.Wanted {
	policy := &cfg.Topology.Policy
	categories := policy.Categories()
	return vcenter.Wanted{
		Tags: len(categories) > 0, Categories: categories, Surveyed: policy.VolumeCategories(), Paths: policy.TagPaths(),
		HostGroups: policy.HostGroups(), FaultDomains: policy.FaultDomains(),
	}
}

// watch follows the files and Secrets that a configuration is made of.
func (l *live) watch(cfg *config.Config) {
	paths, refs := l.sources(cfg)
	l.files.Apply(paths)
	l.secrets.Apply(refs)
}

func (l *live) sources(cfg *config.Config) (paths []string, refs []config.SecretRef) {
	paths = slices.Clone(cfg.Files)
	if l.source.inSecret() {
		refs = append(refs, l.source.secret)
	} else {
		paths = append(paths, l.source.file)
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

// watchToo follows files besides those of the running configuration, which the
// mistakes of a refused one are about.
func (l *live) watchToo(files []string) {
	paths, _ := l.sources(l.reloader.current)
	l.files.Apply(append(paths, files...))
}

// start starts what runs beside the framework. A process that waits to lead follows its
// configuration, and the vCenters only as a warm standby.
func (l *live) start(d *daemon, factory informers.SharedInformerFactory) {
	leads := l.provider.Started()
	if d.warm() {
		standby := l.nodes.NewStandby(factory)
		d.group.Go(func() error { return standby.Run(d.ctx) })
		at := make(chan struct{})
		close(at)
		leads = at
	}
	d.group.Go(func() error { return l.nodes.Run(d.ctx) })
	d.group.Go(func() error { return l.follow(d.ctx) })
	d.group.Go(func() error {
		select {
		case <-leads:
			return l.fleet.Run(d.ctx)
		case <-d.ctx.Done():
			return nil
		}
	})
}

// follow applies what changes in files and Secrets until the context is done.
func (l *live) follow(ctx context.Context) error {
	own, end := newPod(ctx, l.client)
	defer end()
	l.reloader.pod = own
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.secrets.Run(ctx) })
	g.Go(func() error { return l.files.Run(ctx) })
	g.Go(func() error {
		for {
			select {
			case <-l.files.Changes():
			case <-l.changed:
			case <-ctx.Done():
				return nil
			}
			l.reloader.look(ctx)
			l.fleet.Renew()
		}
	})
	return g.Wait()
}
