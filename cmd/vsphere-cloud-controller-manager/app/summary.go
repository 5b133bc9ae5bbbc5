package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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
			"credentials", credentialsOf(v), "certificate", trustOf(v))
	}
	log.Info("Configured labels", "labels", labelsOf(&t.Policy), "precedence", cmp.Or(t.Policy.Precedence, topology.PrecedenceCSI),
		"backfill", t.Backfill, "drift", t.Drift, "settle", t.Settle)
	log.Info("Watching Nodes and vCenters", "nodes", cmp.Or(a.cfg.NodeSelector.String(), "all"), "tagRefresh", a.flags.TagRefresh,
		"nodeDeletion", !a.cfg.SkipNodeDeletion, "controllers", generic.Controllers, "leaderElection", generic.LeaderElection.LeaderElect,
		"lease", klog.KRef(generic.LeaderElection.ResourceNamespace, generic.LeaderElection.ResourceName), "warmStandby", a.flags.WarmStandby)
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

// trustOf returns what decides whether the server's certificate is trusted.
func trustOf(v *config.VCenter) string {
	ca := cmp.Or(v.CAFile, "the configuration")
	switch hasCA := v.CAFile != "" || len(v.CA) > 0; {
	case v.Insecure:
		return "not verified"
	case hasCA && v.Thumbprint != "":
		return "thumbprint or CA in " + ca
	case hasCA:
		return "CA in " + ca
	case v.Thumbprint != "":
		return "thumbprint"
	}
	return "CAs of the system"
}

// labelsOf returns what gives each label its value, as in topology.kubernetes.io/zone=category "k8s-zone".
func labelsOf(p *topology.Policy) (all []string) {
	for _, r := range slices.Concat(p.Rules, p.Levels) {
		from := "name of the " + string(r.Inventory)
		switch {
		case r.Value != nil:
			from = "composed value"
		case r.Category != "":
			from = fmt.Sprintf("category %q", r.Category)
		case r.HostGroup != "":
			from = fmt.Sprintf("DRS host group %q", r.HostGroup)
		}
		all = append(all, r.Label+"="+from)
	}
	return all
}
