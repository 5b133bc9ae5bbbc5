package config

import (
	"slices"
	"strconv"
	"strings"

	"vzones/topology/quote"
)

// variables are the environment variables of the vSphere CPI, and what they
// override. Those of a Secret stand before those of an account, which count only
// where no Secret does.
func (s *schema) variables() []field {
	g := &s.global
	return []field{
		{"VSPHERE_SECRET_NAME", &g.secretName},
		{"VSPHERE_SECRET_NAMESPACE", &g.secretNamespace},
		{"VSPHERE_SECRETS_DIRECTORY", &g.secretsDirectory},
		{"VSPHERE_VCENTER", &g.server},
		{"VSPHERE_VCENTER_PORT", &g.port},
		{"VSPHERE_USER", &g.user},
		{"VSPHERE_PASSWORD", &g.password},
		{"VSPHERE_DATACENTER", &g.datacenters},
		{"VSPHERE_ROUNDTRIP_COUNT", &g.roundTrips},
		{"VSPHERE_INSECURE", &g.insecure},
		{"VSPHERE_CAFILE", &g.caFile},
		{"VSPHERE_THUMBPRINT", &g.thumbprint},
		{"VSPHERE_IP_FAMILY", &g.ipFamilies},
		{"VSPHERE_LABEL_REGION", &s.region},
		{"VSPHERE_LABEL_ZONE", &s.zone},
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

const (
	variableUser     = "VSPHERE_USER"
	variablePassword = "VSPHERE_PASSWORD"
)

// inherited are the variables for keys of the global section that vCenters inherit,
// and those keys. The CPI reads them when its vCenters have inherited, so that they
// change none of them.
var inherited = map[string]string{
	"VSPHERE_VCENTER":         "server",
	"VSPHERE_VCENTER_PORT":    "port",
	variableUser:              "user",
	variablePassword:          "password",
	"VSPHERE_DATACENTER":      "datacenters",
	"VSPHERE_ROUNDTRIP_COUNT": "soapRoundtripCount",
	"VSPHERE_INSECURE":        "insecureFlag",
	"VSPHERE_CAFILE":          "caFile",
	"VSPHERE_THUMBPRINT":      "thumbprint",
	"VSPHERE_IP_FAMILY":       "ipFamily",
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
	named := s.namesVCenters()
	g := &s.global
	g.apart = (g.secretName.set || g.secretNamespace.set) != g.secretsDirectory.set
	for _, f := range fields {
		value, given := values[f.name]
		if _, always := f.into.(presence); value == "" && (!given || !always) {
			continue
		}
		t := text{v: value, at: variable(f.name), set: true}
		switch {
		case inherited[f.name] == "":
			set(p, t, f.into)
		case !named:
			s.replace(p, t, f)
		case s.lacks(f.name):
			set(p, t, f.into) // see checker.borrowed
		default:
			p.unused(t, f.name, s.global.told())
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

// namesVCenters reports whether the file itself names a vCenter, or tries to.
func (s *schema) namesVCenters() bool {
	server := s.global.server
	return len(s.vcenters) > 0 || s.broken || server.set && server.at.line != inEnvironment
}

// lacks reports whether a variable is of an account, and the global section has
// neither its half nor anything in its place. A file whose vCenters would inherit it
// is refused by the CPI, so that it means nothing else there.
func (s *schema) lacks(name string) bool {
	g := &s.global
	return !g.elsewhere() && (name == variableUser && !g.user.set || name == variablePassword && !g.password.set)
}

// elsewhere reports whether the section says that credentials are somewhere else.
func (s *section) elsewhere() bool {
	return s.secretName.set || s.secretNamespace.set || s.secretsDirectory.set
}

// told returns who says where the credentials come from: the file, or a variable where
// the file has nothing like it.
func (s *section) told() string {
	by := "the file"
	for _, t := range []text{s.secretsDirectory, s.secretNamespace, s.secretName} {
		if t.set && t.at.line != inEnvironment {
			return "the file"
		}
		if t.set {
			by = t.at.key()
		}
	}
	return by
}

// unused tells of a variable that changes nothing, since the file names vCenters; by is
// who says where the credentials come from.
func (p *problems) unused(t text, name, by string) {
	const why = "has no effect, because the file names vCenters: remove it"
	on, _ := strconv.ParseBool(t.v)
	switch {
	case name == variableUser || name == variablePassword:
		p.warnf(t.at, "has no effect, because %s says where the credentials come from: remove it", by)
	case name == "VSPHERE_INSECURE" && on:
		p.warnf(t.at, why+", and trust the certificate by %s", p.words.trust)
	default:
		p.warnf(t.at, why+", or write %s %s", p.words.key(inherited[name]), p.words.global)
	}
}

// replace takes the value of a variable for the only vCenter, which the file does not
// name, and tells of it; of VSPHERE_INSECURE=true checker.unverified does.
func (s *schema) replace(p *problems, t text, f field) {
	if wrong := unusable(f.name, t.v); wrong != "" {
		p.warnf(t.at, "is ignored, because it is %s, or remove it", wrong)
		return
	}
	what := "sets " + p.words.key(inherited[f.name])
	at, before := given(f.into)
	if f.name == variablePassword {
		at, before = s.global.password.at, s.global.password.set
	}
	if before {
		what = "overrides " + at.key()
	}
	instead := "it"
	if f.name == variableUser || f.name == variablePassword {
		instead = p.words.secret()
	}
	set(p, t, f.into)
	if f.into == &s.global.insecure && s.global.insecure.v {
		return
	}
	p.warnf(t.at, "%s, because the file names no vCenter: write %s %s instead", what, instead, p.words.global)
}

// unusable says what is wrong with a value that the CPI passes over, and what to write.
func unusable(name, value string) string {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	switch name {
	case "VSPHERE_VCENTER_PORT":
		if err != nil || n < 1 || n > 65535 {
			return "not a port: write a number from 1 to 65535"
		}
	case "VSPHERE_ROUNDTRIP_COUNT":
		if err != nil || n < 1 {
			return "not a count: write a number, at least 1"
		}
	case "VSPHERE_INSECURE":
		if _, err := strconv.ParseBool(value); err != nil {
			return "neither true nor false: write one of the two"
		}
	}
	return ""
}

// borrowed tells which vCenters of the file have an account from the environment.
func (c *checker) borrowed(s *schema) {
	if !s.namesVCenters() {
		return
	}
	have := make(map[position][]string)
	for _, e := range c.inherited {
		for _, at := range []position{e.user.at, e.password.at} {
			have[at] = append(have[at], quote.Value(e.name))
		}
	}
	for _, half := range []struct {
		name string
		at   position
	}{{variableUser, s.global.user.at}, {variablePassword, s.global.password.at}} {
		if half.at != variable(half.name) {
			continue
		}
		if have[half.at] == nil {
			c.unused(text{at: half.at}, half.name, s.global.told())
			continue
		}
		c.warnf(half.at, "is the %s for %s, because the file has none there: write %s %s instead",
			inherited[half.name], vCenters(have[half.at]), c.words.secret(), c.words.global)
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
