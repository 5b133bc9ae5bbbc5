// Package summary owns the first lines of the log, which say what the daemon starts with. It
// never shows a secret.
package summary

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/version"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/topology"
)

// A Summary is what the daemon starts with: four lines of the log, and one for each vCenter.
type Summary struct {
	Version version.Info
	// Source is the file or the Secret with the configuration.
	Source     string
	Config     *config.Config
	TagRefresh time.Duration
	// Controllers are the names of those that are on, in order.
	Controllers []string
	Election    componentbaseconfig.LeaderElectionConfiguration
	WarmStandby bool
}

// Log logs the summary.
func (s *Summary) Log(ctx context.Context) {
	log := klog.FromContext(ctx)
	log.Info("Starting the vSphere cloud controller manager", "version", s.Version.GitVersion, "commit", s.Version.GitCommit,
		"go", s.Version.GoVersion, "platform", s.Version.Platform, "configuration", s.Source)
	for i := range s.Config.VCenters {
		v := &s.Config.VCenters[i]
		log.Info("Configured vCenter", "vCenter", v.Name, "server", v.Address(), "datacenters", orAll(v.Datacenters),
			"credentials", credentialsOf(v), "certificate", trustOf(v))
	}
	policy := &s.Config.Topology.Policy
	precedence := policy.Precedence
	if precedence == "" {
		precedence = topology.PrecedenceCSI
	}
	log.Info("Configured labels", "labels", labelsOf(policy), "precedence", precedence,
		"backfill", s.Config.Topology.Backfill, "drift", s.Config.Topology.Drift, "settle", s.Config.Topology.Settle)
	nodes := s.Config.NodeSelector.String()
	if s.Config.NodeSelector.Empty() {
		nodes = "all"
	}
	log.Info("Watching Nodes and vCenters", "nodes", nodes, "tagRefresh", s.TagRefresh, "nodeDeletion", !s.Config.SkipNodeDeletion,
		"controllers", s.Controllers)
	if !s.Election.LeaderElect {
		log.Info("Leader election is off; no other instance may run")
		return
	}
	log.Info("Taking part in the leader election", "lease", klog.KRef(s.Election.ResourceNamespace, s.Election.ResourceName),
		"leaseDuration", s.Election.LeaseDuration.Duration, "retryPeriod", s.Election.RetryPeriod.Duration, "warmStandby", s.WarmStandby)
}

func orAll(names []string) []string {
	if len(names) == 0 {
		return []string{"all"}
	}
	return names
}

// credentialsOf returns where the credentials come from, in the order of precedence. A user name
// is left out: people paste passwords there.
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

// trustOf returns what decides whether the server's certificate is trusted.
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

// labelsOf returns what gives each label its value, region and zone first, as in
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
