package app

import (
	"cmp"
	"context"

	"k8s.io/component-base/version"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
)

// logSummary logs what the daemon starts with: three lines, and one for each vCenter. It never shows
// a secret, and no user name: people paste passwords there.
func (a *App) logSummary(ctx context.Context, generic *cmconfig.GenericControllerManagerConfiguration) {
	log, t := klog.FromContext(ctx), &a.cfg.Topology
	log.Info("Starting the vSphere cloud controller manager", "version", version.Get().GitVersion, "configuration", a.source.String())
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
		"nodeDeletion", !a.cfg.SkipNodeDeletion, "controllers", generic.Controllers, "leaderElection", generic.LeaderElection.LeaderElect,
		"lease", klog.KRef(generic.LeaderElection.ResourceNamespace, generic.LeaderElection.ResourceName))
}

// credentialsOf returns where the credentials come from, in the order of precedence.
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
