package convert

import (
	"slices"

	"vzones/config/internal/problem"
	"vzones/config/internal/schema"
	"vzones/config/parse/yaml"
)

const (
	ofImage  = "is about the vSphere CPI's image: set image.repository, and image.tag or image.digest, to vzones' own"
	noPolicy = "Kubernetes has no PodSecurityPolicies any more"
	notTaken = "the vSphere CPI's chart does nothing with it"
	noPort   = "the vSphere CPI has stopped to serve the API to which it led, and vzones does not"
	ownUser  = "vzones runs as 65532, or any other user: write podSecurityContext if the cluster asks for a certain one"
	ownDir   = "vzones' chart has a folder of its own for the file"
	unplaced = "the vSphere CPI's chart does nothing with it: its Pods are where daemonset.affinity wants them"
	another  = "is another chart of that release: upgrading it to vzones takes that chart away, so give it a release of its own first"
	ofCattle = "is Rancher's: if systemDefaultRegistry is set, write that registry into image.repository"
	syncing  = "Rancher keeps the Secret in the cluster as long as the cluster's own settings say so"
)

// fields are those of config and of global.config in the CPI's own chart.
func (c *chartVCenter) fields(v *chartValues) []schema.Field {
	return []schema.Field{
		{Name: "enabled", Into: &c.writeConfig},
		{Name: "name", Into: &c.configMap},
		{Name: "vcenter", Into: &c.server},
		{Name: "username", Into: &c.user},
		{Name: "password", Into: &c.password},
		{Name: "datacenter", Into: &c.datacenters},
		{Name: "region", Into: &c.region},
		{Name: "zone", Into: &c.zone},
		{Name: "thumbprint", Into: &c.thumbprint},
		{Name: "tlsThumbprint", Into: misread{&c.thumbprint}},
		{Name: "clusterId", Into: v.lost("is of the other charts of that release")},
		{Name: "secret", Into: schema.Group{Fields: []schema.Field{{Name: "create", Into: &c.writeSecret}, {Name: "name", Into: &c.secretName}}}},
	}
}

// upstream are the values of the CPI's own chart.
func (v *chartValues) upstream() []schema.Field {
	return append(v.own(), schema.Field{Name: "global", Into: schema.Group{Fields: []schema.Field{{Name: "config", Into: schema.Group{Fields: v.global.fields(v)}}}}})
}

// own are those values but for the global ones.
func (v *chartValues) own() []schema.Field {
	return []schema.Field{
		{Name: "nameOverride", Into: &v.nameOverride},
		{Name: "fullnameOverride", Into: &v.fullnameOverride},
		{Name: "config", Into: schema.Group{Fields: v.vcenter.fields(v)}},
		{Name: "podSecurityPolicy", Into: v.lostIfEnabled(noPolicy)},
		{Name: "securityContext", Into: v.lost(ownUser)},
		{Name: "rbac", Into: schema.Group{Fields: []schema.Field{{Name: "create", Into: v.carryAll("rbac", "create")}}}},
		{Name: "serviceAccount", Into: schema.Group{Fields: []schema.Field{
			{Name: "create", Into: v.carryAll("serviceAccount", "create")},
			{Name: "name", Into: v.carry("serviceAccount", "name")},
		}}},
		{Name: "daemonset", Into: schema.Group{Fields: v.workload()}},
		{Name: "service", Into: v.lostIfEnabled(noPort)},
		{Name: "ingress", Into: v.lostIfEnabled(noPort)},
	}
}

func (v *chartValues) workload() []schema.Field {
	return []schema.Field{
		{Name: "annotations", Into: v.carry("workload", "annotations")},
		{Name: "image", Into: v.lost(ofImage)},
		{Name: "tag", Into: v.lost(ofImage)},
		{Name: "pullPolicy", Into: v.carry("image", "pullPolicy")},
		{Name: "dnsPolicy", Into: v.carry("dnsPolicy")},
		{Name: "fullnameOverride", Into: v.lost(notTaken)},
		{Name: "cmdline", Into: schema.Group{Fields: []schema.Field{
			{Name: "logging", Into: v.carryAll(verbosity...)},
			{Name: "cloudConfig", Into: schema.Group{Fields: []schema.Field{{Name: "dir", Into: v.lost(ownDir)}, {Name: "file", Into: &v.mounted}}}},
			{Name: "additionalParams", Into: &v.params},
		}}},
		{Name: "replicaCount", Into: v.lost(notTaken)},
		{Name: "resources", Into: v.carry("resources")},
		{Name: "podAnnotations", Into: v.carry("workload", "podAnnotations")},
		{Name: "podLabels", Into: podLabels{v, v.carry("workload", "podLabels")}},
		{Name: "nodeSelector", Into: v.lost(unplaced)},
		{Name: "tolerations", Into: &v.tolerates},
		{Name: "affinity", Into: &v.attracts},
	}
}

func (v *chartValues) finishUpstream(d *yaml.Decoder) {
	v.finishVCenter(schema.Toggle{}, "k8s-region", "k8s-zone", d)
}

// giantSwarm are the values of Giant Swarm's chart, which has the CPI's as a part.
func (v *chartValues) giantSwarm() []schema.Field {
	fields := append(v.upstream(), schema.Field{Name: "cloud-provider-for-vsphere", Into: schema.Group{Fields: v.own()}})
	for _, key := range []string{"kube-vip", "kube-vip-cloud-provider", "vsphere-csi-driver"} {
		fields = append(fields, schema.Field{Name: key, Into: v.lost(another)})
	}
	return fields
}

func (v *chartValues) finishGiantSwarm(d *yaml.Decoder) {
	v.finishVCenter(schema.Toggle{V: true, Set: true}, "", "", d)
}

// finishVCenter says what the CPI's own chart does with the defaults given.
func (v *chartValues) finishVCenter(enabled schema.Toggle, region, zone string, d *yaml.Decoder) {
	c := v.global.over(&v.vcenter)
	c.writeConfig = schema.Either(c.writeConfig, enabled)
	name := "vsphere-cloud-config"
	if !c.writeConfig.V {
		c.configMap, name = schema.Text{}, "cloud-config"
	}
	c.configMap, c.secretName = orDefault(c.configMap, name), orDefault(c.secretName, "vsphere-cloud-secret")
	v.labels = schema.Toggle{V: true, Set: true}
	v.pairLabels(&c, region, zone, d)
	v.mounted = orDefault(v.mounted, "vsphere.conf")
	v.unverified = !c.thumbprint.Set
	v.daemonSet = orDefault(v.nameOverride, "vsphere-cpi").V
	v.extra = []toleration{
		{"node-role.kubernetes.io/master", "Exists", "", "NoSchedule"},
		{"CriticalAddonsOnly", "Exists", "", "NoExecute"},
	}
	v.affine = []string{controlPlane}
	v.vcenter = c
	v.vcenter.named("config.vcenter", "config.datacenter", "config.username", "config.password")
	if v.fullnameOverride.Set {
		v.notCarried(d, v.fullnameOverride.At, notTaken)
	}
}

// pairLabels gives the tag categories the defaults given, where the file has no keys for them.
// An empty one is not a default: the vSphere CPI then writes neither region nor zone.
func (v *chartValues) pairLabels(c *chartVCenter, region, zone string, d *yaml.Decoder) {
	if !v.labels.V || !c.writeConfig.V {
		return
	}
	if c.region.At.Line == 0 {
		c.region = orDefault(c.region, region)
	}
	if c.zone.At.Line == 0 {
		c.zone = orDefault(c.zone, zone)
	}
	if c.region.Set && c.zone.Set {
		return
	}
	for _, label := range []*schema.Text{&c.region, &c.zone} {
		switch {
		case label.At.Line <= 0:
		case label.Set:
			v.notCarried(d, label.At, "has no effect in the vSphere CPI, which writes neither region nor zone where one of the two has no tag category")
		default:
			d.Warnf(label.At, "is empty, so that the vSphere CPI writes neither region nor zone: nor does vzones, unless config.labels names "+
				"tag categories in the new values")
		}
		*label = schema.Text{}
	}
	v.labels = schema.Toggle{}
}

// rancher are the values of Rancher's chart.
func (v *chartValues) rancher() []schema.Field {
	c := &v.vcenter
	return []schema.Field{
		{Name: "vCenter", Into: schema.Group{Fields: []schema.Field{
			{Name: "host", Into: &c.server},
			{Name: "port", Into: &v.port},
			{Name: "insecureFlag", Into: truth{&v.insecure}},
			{Name: "datacenters", Into: &c.datacenters},
			{Name: "username", Into: &c.user},
			{Name: "password", Into: &c.password},
			{Name: "credentialsSecret", Into: schema.Group{Fields: []schema.Field{
				{Name: "name", Into: &c.secretName}, {Name: "generate", Into: &c.writeSecret}, {Name: "rancherManaged", Into: v.lost(syncing)},
			}}},
			{Name: "cloudConfig", Into: schema.Group{Fields: []schema.Field{{Name: "name", Into: &c.configMap}, {Name: "generate", Into: &c.writeConfig}}}},
			{Name: "labels", Into: schema.Group{Fields: []schema.Field{{Name: "region", Into: &c.region}, {Name: "zone", Into: &c.zone}, {Name: "generate", Into: &v.labels}}}},
		}}},
		{Name: "nodesEnable", Into: &v.useNodes},
		{Name: "nodes", Into: schema.Group{Fields: v.addresses()}},
		{Name: "versionOverrides", Into: v.lost(ofImage)},
		{Name: "cloudControllerManager", Into: schema.Group{Fields: []schema.Field{
			{Name: "image", Into: v.lost(ofImage)},
			{Name: "repository", Into: v.lost(ofImage)},
			{Name: "primeRepository", Into: v.lost(ofImage)},
			{Name: "tag", Into: v.lost(ofImage)},
			{Name: "primeTag", Into: v.lost(ofImage)},
			{Name: "nodeSelector", Into: &v.selects},
			{Name: "tolerations", Into: &v.tolerates},
			{Name: "podLabels", Into: podLabels{v, v.carry("workload", "podLabels")}},
			{Name: "resources", Into: v.carry("resources")},
			{Name: "rbac", Into: schema.Group{Fields: []schema.Field{{Name: "enabled", Into: v.carryAll("rbac", "create")}}}},
			{Name: "env", Into: &v.env},
			{Name: "dnsPolicy", Into: v.carry("dnsPolicy")},
		}}},
		{Name: "global", Into: schema.Group{Fields: []schema.Field{
			{Name: "cattle", Into: v.lost(ofCattle)},
			{Name: "prime", Into: v.lostIfEnabled(ofImage)},
			{Name: "ipFamily", Into: &v.families},
		}}},
	}
}

// addresses are the fields of nodes that the CPI has.
func (v *chartValues) addresses() []schema.Field {
	return slices.DeleteFunc(v.nodes.Fields(), func(f schema.Field) bool { return f.YAMLOnly || f.Ours })
}

func (v *chartValues) finishRancher(d *yaml.Decoder) {
	on := schema.Toggle{V: true, Set: true}
	c := &v.vcenter
	c.writeConfig = schema.Either(c.writeConfig, on)
	c.configMap, c.secretName = orDefault(c.configMap, "vsphere-cloud-config"), orDefault(c.secretName, "vsphere-cpi-creds")
	v.mounted = orDefault(v.mounted, "vsphere.yaml")
	v.insecure = schema.Either(v.insecure, on)
	for _, label := range []*schema.Text{&c.region, &c.zone} {
		if label.Set && !v.labels.V {
			v.notCarried(d, label.At, "has no effect in the vSphere CPI's chart without vCenter.labels.generate: true")
			*label = schema.Text{}
		}
	}
	v.pairLabels(c, "k8s-region", "k8s-zone", d)
	if !v.useNodes.V {
		for _, f := range v.addresses() {
			if t, ok := f.Into.(*schema.Text); ok && t.Set {
				v.notCarried(d, t.At, "has no effect in the vSphere CPI's chart without nodesEnable: true")
			}
		}
		v.nodes = schema.Nodes{}
	}
	c.named("vCenter.host", "vCenter.datacenters", "vCenter.username", "vCenter.password")
	v.daemonSet = "rancher-vsphere-cpi-cloud-controller-manager"
	v.extra = []toleration{
		{"node-role.kubernetes.io/master", "Exists", "", "NoSchedule"},
		{"node-role.kubernetes.io/controlplane", "Equal", "true", "NoSchedule"},
		{"node-role.kubernetes.io/etcd", "Exists", "", "NoExecute"},
	}
	v.affine = []string{controlPlane, "node-role.kubernetes.io/controlplane"}
	if v.tolerates.node != nil {
		v.extra = slices.Insert(v.extra, 0, toleration{"cattle.io/os", "Equal", "linux", "NoSchedule"})
	}
}

// orDefault returns what the chart has where the file says nothing.
func orDefault(t schema.Text, byDefault string) schema.Text {
	if t.Set || byDefault == "" {
		return t
	}
	return schema.Text{V: byDefault, At: problem.Position{Line: problem.InDefault, Path: t.At.Path}, Set: true}
}

// named says what keys are called that the file does not have.
func (c *chartVCenter) named(server, datacenters, user, password string) {
	for at, path := range map[*problem.Position]string{
		&c.server.At: server, &c.datacenters.At: datacenters, &c.user.At: user, &c.password.At: password,
	} {
		if at.Line == 0 {
			at.Path = path
		}
	}
}
