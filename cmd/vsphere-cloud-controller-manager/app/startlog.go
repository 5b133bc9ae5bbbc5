package app

import (
	"cmp"
	"context"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/cloud-provider/options"
	"k8s.io/component-base/version"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
)

// logSummary logs the settings and the warnings about them. It shows no secret and no user name, since people paste passwords as user names.
func (a *App) logSummary(ctx context.Context, generic *cmconfig.GenericControllerManagerConfiguration) {
	log := klog.FromContext(ctx)
	t := &a.cfg.Topology
	log.Info("Starting the vSphere cloud controller manager", "version", version.Get().GitVersion, "configuration", a.source.String())
	// Warnings come early, since one may be about an environment variable that overrides settings below.
	logWarnings(ctx, nil, a.cfg.Warnings)
	for i := range a.cfg.VCenters {
		v := &a.cfg.VCenters[i]
		datacenters := v.Datacenters
		if len(datacenters) == 0 {
			datacenters = []string{"all"}
		}
		log.Info("Configured vCenter", "vCenter", v.Name, "server", v.Address(), "datacenters", datacenters,
			"credentials", credentialsOf(v), "insecure", v.Insecure)
	}
	log.Info("Configured labels", "labels", t.Policy.Labels(), "precedence", cmp.Or(t.Policy.Precedence, topology.PrecedenceCSI),
		"backfill", t.Backfill, "drift", t.Drift, "settle", t.Settle)
	log.Info("Watching Nodes and vCenters", "nodes", cmp.Or(a.cfg.NodeSelector.String(), "all"), "tagRefresh", a.flags.TagRefresh,
		"nodeDeletion", !a.cfg.SkipNodeDeletion, "outOfService", a.cfg.OutOfService, "controllers", generic.Controllers, "leaderElection", generic.LeaderElection.LeaderElect,
		"lease", klog.KRef(generic.LeaderElection.ResourceNamespace, generic.LeaderElection.ResourceName))
}

func credentialsOf(v *config.VCenter) (from []string) {
	if v.Secret != (config.SecretRef{}) {
		from = append(from, "Secret "+v.Secret.Namespace+"/"+v.Secret.Name)
	}
	if v.SecretsDirectory != "" {
		from = append(from, "directory "+v.SecretsDirectory)
	}
	if v.User != "" {
		from = append(from, "the configuration")
	}
	return from
}

// logProxy logs the proxy for the API server. HTTPS_PROXY is usually meant for vCenters, but also applies
// to the API server unless NO_PROXY excludes it. The framework reports errors in these settings.
func logProxy(ctx context.Context, opts *options.CloudControllerManagerOptions) {
	read := rest.InClusterConfig
	if kubeconfig := opts.Generic.ClientConnection.Kubeconfig; opts.Master != "" || kubeconfig != "" {
		read = func() (*rest.Config, error) { return clientcmd.BuildConfigFromFlags(opts.Master, kubeconfig) }
	}
	cfg, err := read()
	if err != nil {
		return
	}
	if cfg.Proxy != nil {
		return
	}
	server, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: server}); err == nil && proxy != nil {
		klog.FromContext(ctx).Info("The API server is reached through the proxy of the environment: if that is not intended, add its address to NO_PROXY",
			"server", server.Host, "proxy", proxy.Host)
	}
}
