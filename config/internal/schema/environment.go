package schema

import (
	"strconv"

	"vzones/config/internal/problem"
)

// Variables are the environment variables of the vSphere CPI, and what they
// override. Those of a Secret stand before those of an account, which count only
// where no Secret does.
func (s *File) Variables() []Field {
	g := &s.Global
	return []Field{
		{"VSPHERE_SECRET_NAME", &g.SecretName},
		{"VSPHERE_SECRET_NAMESPACE", &g.SecretNamespace},
		{"VSPHERE_SECRETS_DIRECTORY", &g.SecretsDirectory},
		{"VSPHERE_VCENTER", &g.Server},
		{"VSPHERE_VCENTER_PORT", &g.Port},
		{"VSPHERE_USER", &g.User},
		{"VSPHERE_PASSWORD", &g.Password},
		{"VSPHERE_DATACENTER", &g.Datacenters},
		{"VSPHERE_ROUNDTRIP_COUNT", &g.RoundTrips},
		{"VSPHERE_INSECURE", &g.Insecure},
		{"VSPHERE_CAFILE", &g.CAFile},
		{"VSPHERE_THUMBPRINT", &g.Thumbprint},
		{"VSPHERE_IP_FAMILY", &g.IPFamilies},
		{"VSPHERE_LABEL_REGION", &s.Region},
		{"VSPHERE_LABEL_ZONE", &s.Zone},
		{"VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR", &s.Nodes.InternalSubnets},
		{"VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR", &s.Nodes.ExternalSubnets},
		{"VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME", &s.Nodes.InternalNetwork},
		{"VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME", &s.Nodes.ExternalNetwork},
		{"SKIP_NODE_DELETION", Presence{&s.Nodes.SkipDeletion}},
		{"ENABLE_ALPHA_DUAL_STACK", Ignored(noSwitch)},
		{"VSPHERE_API_DISABLE", Ignored(noAPI)},
		{"VSPHERE_API_BINDING", Ignored(noAPI)},
	}
}

const (
	VariableUser     = "VSPHERE_USER"
	VariablePassword = "VSPHERE_PASSWORD"
)

// inherited are the variables for keys of the global section that vCenters inherit,
// and those keys. The CPI reads them when its vCenters have inherited, so that they
// change none of them.
var Inherited = map[string]string{
	"VSPHERE_VCENTER":         "server",
	"VSPHERE_VCENTER_PORT":    "port",
	VariableUser:              "user",
	VariablePassword:          "password",
	"VSPHERE_DATACENTER":      "datacenters",
	"VSPHERE_ROUNDTRIP_COUNT": "soapRoundtripCount",
	"VSPHERE_INSECURE":        "insecureFlag",
	"VSPHERE_CAFILE":          "caFile",
	"VSPHERE_THUMBPRINT":      "thumbprint",
	"VSPHERE_IP_FAMILY":       "ipFamily",
}

// Presence is what a variable sets to true by being there, whatever its value.
type Presence struct {
	Toggle *Toggle
}

// NamesVCenters reports whether the file itself names a vCenter, or tries to.
func (s *File) NamesVCenters() bool {
	server := s.Global.Server
	return len(s.VCenters) > 0 || s.Broken || server.Set && server.At.Line != problem.InEnvironment
}

// LacksAccount reports whether a variable is of an account, and the global section has
// neither its half nor anything in its place. A file whose vCenters would inherit it
// is refused by the CPI, so that it means nothing else there.
func (s *File) LacksAccount(name string) bool {
	g := &s.Global
	return !g.elsewhere() && (name == VariableUser && !g.User.Set || name == VariablePassword && !g.Password.Set)
}

// elsewhere reports whether the section says that credentials are somewhere else.
func (s *Section) elsewhere() bool {
	return s.SecretName.Set || s.SecretNamespace.Set || s.SecretsDirectory.Set
}

// CredentialsSource returns who says where the credentials come from: the file, or a variable where
// the file has nothing like it.
func (s *Section) CredentialsSource() string {
	by := "the file"
	for _, t := range []Text{s.SecretsDirectory, s.SecretNamespace, s.SecretName} {
		if t.Set && t.At.Line != problem.InEnvironment {
			return "the file"
		}
		if t.Set {
			by = t.At.Key()
		}
	}
	return by
}

// Unused tells of a variable that changes nothing, since the file names vCenters; by is
// who says where the credentials come from.
func Unused(p *problem.List, t Text, name, by string) {
	const why = "has no effect, because the file names vCenters: remove it"
	on, _ := strconv.ParseBool(t.V)
	switch {
	case name == VariableUser || name == VariablePassword:
		p.Warnf(t.At, "has no effect, because %s says where the credentials come from: remove it", by)
	case name == "VSPHERE_INSECURE" && on:
		p.Warnf(t.At, why+", and trust the certificate by %s", p.Words.Trust)
	default:
		p.Warnf(t.At, why+", or write %s %s", p.Words.Key(Inherited[name]), p.Words.Global)
	}
}
