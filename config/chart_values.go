package config

import "slices"

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
func (c *chartVCenter) fields(v *chartValues) []field {
	return []field{
		{"enabled", &c.writeConfig},
		{"name", &c.configMap},
		{"vcenter", &c.server},
		{"username", &c.user},
		{"password", &c.password},
		{"datacenter", &c.datacenters},
		{"region", &c.region},
		{"zone", &c.zone},
		{"thumbprint", &c.thumbprint},
		{"tlsThumbprint", misread{&c.thumbprint}},
		{"clusterId", v.lost("is of the other charts of that release")},
		{"secret", group{fields: []field{{"create", &c.writeSecret}, {"name", &c.secretName}}}},
	}
}

// upstream are the values of the CPI's own chart.
func (v *chartValues) upstream() []field {
	return append(v.own(), field{"global", group{fields: []field{{"config", group{fields: v.global.fields(v)}}}}})
}

// own are those values but for the global ones.
func (v *chartValues) own() []field {
	return []field{
		{"nameOverride", &v.nameOverride},
		{"fullnameOverride", &v.fullnameOverride},
		{"config", group{fields: v.vcenter.fields(v)}},
		{"podSecurityPolicy", v.lostIfEnabled(noPolicy)},
		{"securityContext", v.lost(ownUser)},
		{"rbac", group{fields: []field{{"create", v.carryAll("rbac", "create")}}}},
		{"serviceAccount", group{fields: []field{
			{"create", v.carryAll("serviceAccount", "create")},
			{"name", v.carry("serviceAccount", "name")},
		}}},
		{"daemonset", group{fields: v.workload()}},
		{"service", v.lostIfEnabled(noPort)},
		{"ingress", v.lostIfEnabled(noPort)},
	}
}

func (v *chartValues) workload() []field {
	return []field{
		{"annotations", v.carry("workload", "annotations")},
		{"image", v.lost(ofImage)},
		{"tag", v.lost(ofImage)},
		{"pullPolicy", v.carry("image", "pullPolicy")},
		{"dnsPolicy", v.carry("dnsPolicy")},
		{"fullnameOverride", v.lost(notTaken)},
		{"cmdline", group{fields: []field{
			{"logging", v.carryAll(verbosity...)},
			{"cloudConfig", group{fields: []field{{"dir", v.lost(ownDir)}, {"file", &v.mounted}}}},
			{"additionalParams", &v.params},
		}}},
		{"replicaCount", v.lost(notTaken)},
		{"resources", v.carry("resources")},
		{"podAnnotations", v.carry("workload", "podAnnotations")},
		{"podLabels", podLabels{v, v.carry("workload", "podLabels")}},
		{"nodeSelector", v.lost(unplaced)},
		{"tolerations", &v.tolerates},
		{"affinity", &v.attracts},
	}
}

func (v *chartValues) finishUpstream(d *decoder) {
	v.finishVCenter(toggle{}, "k8s-region", "k8s-zone", d)
}

// giantSwarm are the values of Giant Swarm's chart, which has the CPI's as a part.
func (v *chartValues) giantSwarm() []field {
	fields := append(v.upstream(), field{"cloud-provider-for-vsphere", group{fields: v.own()}})
	for _, key := range []string{"kube-vip", "kube-vip-cloud-provider", "vsphere-csi-driver"} {
		fields = append(fields, field{key, v.lost(another)})
	}
	return fields
}

func (v *chartValues) finishGiantSwarm(d *decoder) {
	v.finishVCenter(toggle{v: true, set: true}, "", "", d)
}

// finishVCenter says what the CPI's own chart does with the defaults given.
func (v *chartValues) finishVCenter(enabled toggle, region, zone string, d *decoder) {
	c := v.global.over(&v.vcenter)
	c.writeConfig = either(c.writeConfig, enabled)
	name := "vsphere-cloud-config"
	if !c.writeConfig.v {
		c.configMap, name = text{}, "cloud-config"
	}
	c.configMap, c.secretName = orDefault(c.configMap, name), orDefault(c.secretName, "vsphere-cloud-secret")
	v.labels = toggle{v: true, set: true}
	v.pairLabels(&c, region, zone, d)
	v.mounted = orDefault(v.mounted, "vsphere.conf")
	v.unverified = !c.thumbprint.set
	v.daemonSet = orDefault(v.nameOverride, "vsphere-cpi").v
	v.extra = []toleration{
		{"node-role.kubernetes.io/master", "Exists", "", "NoSchedule"},
		{"CriticalAddonsOnly", "Exists", "", "NoExecute"},
	}
	v.affine = []string{controlPlane}
	v.vcenter = c
	v.vcenter.named("config.vcenter", "config.datacenter", "config.username", "config.password")
	if v.fullnameOverride.set {
		v.lose(d, v.fullnameOverride.at, notTaken)
	}
}

// pairLabels gives the tag categories the defaults given, where the file has no keys for them.
// An empty one is no default: the vSphere CPI then writes neither region nor zone.
func (v *chartValues) pairLabels(c *chartVCenter, region, zone string, d *decoder) {
	if !v.labels.v || !c.writeConfig.v {
		return
	}
	if c.region.at.line == 0 {
		c.region = orDefault(c.region, region)
	}
	if c.zone.at.line == 0 {
		c.zone = orDefault(c.zone, zone)
	}
	if c.region.set && c.zone.set {
		return
	}
	for _, label := range []*text{&c.region, &c.zone} {
		switch {
		case label.at.line <= 0:
		case label.set:
			v.lose(d, label.at, "has no effect in the vSphere CPI, which writes neither region nor zone where one of the two has no tag category")
		default:
			d.warnf(label.at, "is empty, so that the vSphere CPI writes neither region nor zone: nor does vzones, unless config.labels names "+
				"tag categories in the new values")
		}
		*label = text{}
	}
	v.labels = toggle{}
}

// rancher are the values of Rancher's chart.
func (v *chartValues) rancher() []field {
	c := &v.vcenter
	return []field{
		{"vCenter", group{fields: []field{
			{"host", &c.server},
			{"port", &v.port},
			{"insecureFlag", truth{&v.insecure}},
			{"datacenters", &c.datacenters},
			{"username", &c.user},
			{"password", &c.password},
			{"credentialsSecret", group{fields: []field{
				{"name", &c.secretName}, {"generate", &c.writeSecret}, {"rancherManaged", v.lost(syncing)},
			}}},
			{"cloudConfig", group{fields: []field{{"name", &c.configMap}, {"generate", &c.writeConfig}}}},
			{"labels", group{fields: []field{{"region", &c.region}, {"zone", &c.zone}, {"generate", &v.labels}}}},
		}}},
		{"nodesEnable", &v.useNodes},
		{"nodes", group{fields: v.addresses()}},
		{"versionOverrides", v.lost(ofImage)},
		{"cloudControllerManager", group{fields: []field{
			{"image", v.lost(ofImage)},
			{"repository", v.lost(ofImage)},
			{"primeRepository", v.lost(ofImage)},
			{"tag", v.lost(ofImage)},
			{"primeTag", v.lost(ofImage)},
			{"nodeSelector", &v.selects},
			{"tolerations", &v.tolerates},
			{"podLabels", podLabels{v, v.carry("workload", "podLabels")}},
			{"resources", v.carry("resources")},
			{"rbac", group{fields: []field{{"enabled", v.carryAll("rbac", "create")}}}},
			{"env", &v.env},
			{"dnsPolicy", v.carry("dnsPolicy")},
		}}},
		{"global", group{fields: []field{
			{"cattle", v.lost(ofCattle)},
			{"prime", v.lostIfEnabled(ofImage)},
			{"ipFamily", &v.families},
		}}},
	}
}

// addresses are the fields of nodes that the CPI has.
func (v *chartValues) addresses() []field {
	return []field{
		{"internalNetworkSubnetCidr", &v.nodes.internalSubnets},
		{"externalNetworkSubnetCidr", &v.nodes.externalSubnets},
		{"internalVmNetworkName", &v.nodes.internalNetwork},
		{"externalVmNetworkName", &v.nodes.externalNetwork},
		{"excludeInternalNetworkSubnetCidr", &v.nodes.excludeInternalSubnets},
		{"excludeExternalNetworkSubnetCidr", &v.nodes.excludeExternalSubnets},
	}
}

func (v *chartValues) finishRancher(d *decoder) {
	on := toggle{v: true, set: true}
	c := &v.vcenter
	c.writeConfig = either(c.writeConfig, on)
	c.configMap, c.secretName = orDefault(c.configMap, "vsphere-cloud-config"), orDefault(c.secretName, "vsphere-cpi-creds")
	v.mounted = orDefault(v.mounted, "vsphere.yaml")
	v.insecure = either(v.insecure, on)
	for _, label := range []*text{&c.region, &c.zone} {
		if label.set && !v.labels.v {
			v.lose(d, label.at, "has no effect in the vSphere CPI's chart without vCenter.labels.generate: true")
			*label = text{}
		}
	}
	v.pairLabels(c, "k8s-region", "k8s-zone", d)
	if !v.useNodes.v {
		for _, f := range v.addresses() {
			if t, ok := f.into.(*text); ok && t.set {
				v.lose(d, t.at, "has no effect in the vSphere CPI's chart without nodesEnable: true")
			}
		}
		v.nodes = nodes{}
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
func orDefault(t text, byDefault string) text {
	if t.set || byDefault == "" {
		return t
	}
	return text{v: byDefault, at: position{line: inDefault, path: t.at.path}, set: true}
}

// named says what keys are called that the file does not have.
func (c *chartVCenter) named(server, datacenters, user, password string) {
	for at, path := range map[*position]string{
		&c.server.at: server, &c.datacenters.at: datacenters, &c.user.at: user, &c.password.at: password,
	} {
		if at.line == 0 {
			at.path = path
		}
	}
}
