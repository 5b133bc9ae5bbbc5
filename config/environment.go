package config

import (
	"slices"
	"strconv"
	"strings"
)

// variables are the environment variables of the vSphere CPI, and what they
// override.
func (s *schema) variables() []field {
	g := &s.global
	return []field{
		{"VSPHERE_VCENTER", &g.server},
		{"VSPHERE_VCENTER_PORT", &g.port},
		{"VSPHERE_USER", &g.user},
		{"VSPHERE_PASSWORD", &g.password},
		{"VSPHERE_DATACENTER", &g.datacenters},
		{"VSPHERE_SECRET_NAME", &g.secretName},
		{"VSPHERE_SECRET_NAMESPACE", &g.secretNamespace},
		{"VSPHERE_ROUNDTRIP_COUNT", &g.roundTrips},
		{"VSPHERE_INSECURE", &g.insecure},
		{"VSPHERE_CAFILE", &g.caFile},
		{"VSPHERE_THUMBPRINT", &g.thumbprint},
		{"VSPHERE_IP_FAMILY", &g.ipFamilies},
		{"VSPHERE_LABEL_REGION", &s.region},
		{"VSPHERE_LABEL_ZONE", &s.zone},
		{"VSPHERE_SECRETS_DIRECTORY", &g.secretsDirectory},
		{"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR", &s.nodes.internalSubnets},
		{"VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR", &s.nodes.externalSubnets},
		{"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME", &s.nodes.internalNetwork},
		{"VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME", &s.nodes.externalNetwork},
		{"SKIP_NODE_DELETION", presence{&s.nodes.skipDeletion}},
		{"ENABLE_ALPHA_DUAL_STACK", ignored(noSwitch)},
		{"VSPHERE_API_DISABLE", ignored(noAPI)},
		{"VSPHERE_API_BINDING", ignored(noAPI)},
	}
}

// presence is what a variable sets to true by being there, whatever its value.
type presence struct {
	toggle *toggle
}

// override puts the values of environment variables in place of the file's. An
// empty one counts as not set, as in the CPI, but for those whose value means
// nothing there.
func (s *schema) override(environ []string, p *problems) {
	environ = withoutServiceLinks(environ, p)
	fields := s.variables()
	values := make(map[string]string)
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	for _, f := range fields {
		value, given := values[f.name]
		if _, always := f.into.(presence); given && always || value != "" {
			set(p, text{v: value, at: variable(f.name), set: true}, f.into)
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		known := slices.ContainsFunc(fields, func(f field) bool { return f.name == name })
		if id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_"); ok && !known && id != "" && value != "" {
			p.errorf(variable(name), "is not read: write the vCenter into the file")
		}
	}
}

func variable(name string) position {
	return position{inEnvironment, "environment variable " + name}
}

func set(p *problems, t text, into any) {
	switch into := into.(type) {
	case *text:
		*into = t
	case *secret:
		*into = secret{v: NewPassword(t.v), at: t.at, set: true, mute: true}
	case *number:
		*into = p.number(t)
	case *toggle:
		on, err := strconv.ParseBool(t.v)
		if err != nil {
			p.errorf(t.at, "is neither true nor false: write one of the two")
		}
		*into = toggle{v: on, at: t.at, set: true, bad: err != nil}
	case presence:
		if on, err := strconv.ParseBool(t.v); err != nil || !on {
			p.warnf(t.at, "counts as true, as in the vSphere CPI: any value does")
		}
		*into.toggle = toggle{v: true, at: t.at, set: true}
	case *list:
		*into = split(t)
	case *rule:
		*into = rule{at: t.at, tag: t, short: true}
	case ignored:
		p.warnf(t.at, "%s", string(into))
	}
}
