package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	componentbaseconfig "k8s.io/component-base/config"
	baseversion "k8s.io/component-base/version"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
)

// A summary is what the daemon starts with, for the first lines of its log: four, and one
// for each vCenter. None has a secret.
type summary struct {
	version version.Info
	// source is the file or the Secret with the configuration.
	source      string
	cfg         *config.Config
	tagRefresh  time.Duration
	controllers []string
	election    componentbaseconfig.LeaderElectionConfiguration
	warm        bool
}

// summary returns that of a daemon whose configuration is read, before an election is
// prepared.
func (d *daemon) summary(c *appconfig.CompletedConfig) *summary {
	generic := &c.ComponentConfig.Generic
	s := &summary{
		version: baseversion.Get(), source: d.source.String(), cfg: d.cfg, tagRefresh: d.flags.tagRefresh,
		election: generic.LeaderElection, warm: d.flags.warmStandby,
	}
	for _, name := range slices.Sorted(maps.Keys(d.controllers())) {
		ours := name != names.ServiceLBController && name != names.NodeRouteController
		if ours && genericapp.IsControllerEnabled(name, app.ControllersDisabledByDefault, generic.Controllers) {
			s.controllers = append(s.controllers, name)
		}
	}
	return s
}

// String is the path of the file, or the name of the Secret.
func (s *source) String() string {
	if s.inSecret() {
		return "Secret " + s.secret.Namespace + "/" + s.secret.Name
	}
	return s.file
}

func (s *summary) log(ctx context.Context) {
	log := klog.FromContext(ctx)
	log.Info("Starting the vSphere cloud controller manager", "version", s.version.GitVersion, "commit", s.version.GitCommit,
		"go", s.version.GoVersion, "platform", s.version.Platform, "configuration", s.source)
	for i := range s.cfg.VCenters {
		v := &s.cfg.VCenters[i]
		log.Info("Configured vCenter", "vCenter", v.Name, "server", v.Address(), "datacenters", orAll(v.Datacenters),
			"credentials", credentialsOf(v), "certificate", trustOf(v), "index", indexOf(v))
	}
	policy := &s.cfg.Topology.Policy
	precedence := policy.Precedence
	if precedence == "" {
		precedence = topology.PrecedenceCSI
	}
	log.Info("Configured labels", "labels", labelsOf(policy), "precedence", precedence,
		"backfill", s.cfg.Topology.Backfill, "drift", s.cfg.Topology.Drift, "settle", s.cfg.Topology.Settle)
	nodes := s.cfg.NodeSelector.String()
	if s.cfg.NodeSelector.Empty() {
		nodes = "all"
	}
	log.Info("Watching Nodes and vCenters", "nodes", nodes, "tagRefresh", s.tagRefresh, "nodeDeletion", !s.cfg.SkipNodeDeletion,
		"controllers", s.controllers)
	if !s.election.LeaderElect {
		log.Info("Leader election is off; no other instance may run")
		return
	}
	log.Info("Taking part in the leader election", "lease", klog.KRef(s.election.ResourceNamespace, s.election.ResourceName),
		"leaseDuration", s.election.LeaseDuration.Duration, "retryPeriod", s.election.RetryPeriod.Duration, "warmStandby", s.warm)
}

func orAll(names []string) []string {
	if len(names) == 0 {
		return []string{"all"}
	}
	return names
}

// credentialsOf says where the credentials come from, the first one that has any first.
// A user name is left out: people paste passwords there.
func credentialsOf(v *config.VCenter) []string {
	var from []string
	if v.Secret != (config.SecretRef{}) {
		from = append(from, "Secret "+v.Secret.Namespace+"/"+v.Secret.Name)
	}
	if v.SecretsDirectory != "" {
		from = append(from, "directory "+v.SecretsDirectory)
	}
	switch {
	case v.User == "":
	case strings.HasPrefix(v.User, "-----BEGIN"):
		from = append(from, "certificate in the configuration")
	default:
		from = append(from, "user in the configuration")
	}
	return from
}

// trustOf says what decides whether the server's certificate is trusted.
func trustOf(v *config.VCenter) string {
	if v.Insecure {
		return "not verified"
	}
	var by []string
	if v.Thumbprint != "" {
		by = append(by, "thumbprint")
	}
	switch {
	case v.CAFile != "":
		by = append(by, "CA in "+v.CAFile)
	case len(v.CA) > 0:
		by = append(by, "CA in the configuration")
	case len(by) == 0:
		return "CAs of the system"
	}
	return strings.Join(by, " or ")
}

func indexOf(v *config.VCenter) string {
	if v.Followed {
		return "followed"
	}
	return "all"
}

// labelsOf says what gives each label its value, region and zone first, as in
// topology.kubernetes.io/zone=category "k8s-zone".
func labelsOf(p *topology.Policy) []string {
	short := map[string]string{v1.LabelTopologyRegion: "region", v1.LabelTopologyZone: "zone"}
	all := []string{}
	for _, rules := range []topology.Rules{p.Rules, p.Levels} {
		for _, r := range rules {
			name := r.Label
			if s := short[name]; s != "" {
				name = s
			}
			all = append(all, name+"="+sourceOf(&r))
		}
	}
	return all
}

func sourceOf(r *topology.Rule) string {
	var from []string
	if r.Category != "" {
		from = append(from, fmt.Sprintf("category %q", r.Category))
	}
	if r.Inventory != "" {
		from = append(from, "name of the "+string(r.Inventory))
	}
	if r.HostGroup != "" {
		from = append(from, fmt.Sprintf("DRS host group %q", r.HostGroup))
	}
	if r.Value != nil {
		from = append(from, "composed value")
	}
	return strings.Join(from, ", ")
}
