package role

import (
	"cmp"
	"net"
	"strconv"

	"vzones/cmd/vzones/internal/survey"
	"vzones/config"
	"vzones/vcenter"
)

// A Report is what -o json and -o yaml print.
type Report struct {
	Role Role `json:"role"`
	// VCenters are in configured order.
	VCenters []VCenter `json:"vcenters"`
}

// A Role is a role of vCenter.
type Role struct {
	Name string `json:"name"`
	// Privileges are in order. vCenter puts these into each role.
	Privileges []string `json:"privileges"`
}

// A VCenter is where the role is granted in one vCenter.
type VCenter struct {
	Name string `json:"name"`
	// Server is its address, with the port if that is not 443.
	Server string `json:"server"`
	// Principal is the user or group that the role is granted to, and stands for one without --principal.
	Principal string  `json:"principal"`
	Group     bool    `json:"group"`
	Grants    []Grant `json:"grants"`
	// again reports whether an entry before it leads to the same vCenter.
	again bool
}

// A Grant is one permission.
type Grant struct {
	// On is folder, datacenter or global.
	On Where `json:"on"`
	// Object is an inventory path, or what the configuration names a datacenter by; it is not there
	// for a global permission.
	Object string `json:"object,omitempty"`
	// Propagate reports whether the permission propagates to children.
	Propagate bool `json:"propagate"`
	// For says what it is for.
	For []string `json:"for"`
}

// noPrincipal stands for the account of vzones.
const noPrincipal = `DOMAIN\USER`

func reportOf(cfg *config.Config, o *options) Report {
	needs := vcenter.RequirementsOf(cfg)
	r := Report{Role: Role{o.name, survey.RolePrivileges()}}
	seen := map[string]bool{}
	for i := range cfg.VCenters {
		v := &cfg.VCenters[i]
		one := VCenter{Name: v.Name, Server: serverOf(v), Principal: cmp.Or(o.principal, noPrincipal), Group: o.group, again: seen[v.Address()]}
		seen[v.Address()] = true
		one.Grants = grantsOf(needs, v.Datacenters)
		r.VCenters = append(r.VCenters, one)
	}
	return r
}

func serverOf(v *config.VCenter) string {
	if v.Port == 443 {
		return v.Server
	}
	return net.JoinHostPort(v.Server, strconv.Itoa(v.Port))
}
