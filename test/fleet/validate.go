package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// complete sets default names and returns every error of the description. It may run more than
// once.
func (s *Spec) complete() error {
	var c checker
	if len(s.VCenters) == 0 {
		c.errorf("no vcenters")
	}
	names := c.unique("vcenters")
	for i := range s.VCenters {
		v := &s.VCenters[i]
		names(v.Name)
		c.scope(v.Name, func() { c.vcenter(v) })
	}
	return errors.Join(c.errs...)
}

// A checker collects errors, each prefixed with the path of names to its object.
type checker struct {
	path []string
	errs []error
}

func (c *checker) errorf(format string, args ...any) {
	prefix := ""
	if len(c.path) > 0 {
		prefix = strings.Join(c.path, "/") + ": "
	}
	c.errs = append(c.errs, errors.New(prefix+fmt.Sprintf(format, args...)))
}

func (c *checker) scope(name string, f func()) {
	c.path = append(c.path, name)
	f()
	c.path = c.path[:len(c.path)-1]
}

// unique returns a function that rejects names that are empty, duplicate or invalid in an
// inventory path.
func (c *checker) unique(kind string) func(string) {
	taken := make(map[string]bool)
	return func(name string) {
		switch {
		case name == "":
			c.errorf("%s: a name is missing", kind)
		case strings.ContainsAny(name, `/\%`):
			c.errorf("%s: name %q contains one of / \\ %%", kind, name)
		case taken[name]:
			c.errorf("%s: name %q is taken", kind, name)
		}
		taken[name] = true
	}
}

func (c *checker) vcenter(v *VCenterSpec) {
	if v.Address == "" {
		v.Address = "127.0.0.1"
	}
	if a, err := netip.ParseAddr(v.Address); err != nil || !a.Is4() || !a.IsLoopback() {
		c.errorf("address %q is no IPv4 loopback address", v.Address)
	}
	if v.User == "" {
		v.User = "vzones@" + v.Name + ".local"
	}
	if v.Password == "" {
		v.Password = "pw-" + v.Name
	}
	for _, a := range v.Accounts {
		if a.User == "" || a.Password == "" || a.User == v.User {
			c.errorf("an account has no user or password of its own")
		}
	}
	if v.Fillers < 0 {
		c.errorf("fillers is negative")
	}
	c.folders(v.Folders)
	names := c.unique("datacenters")
	vms := c.unique("vms")
	hosts := 0
	for i := range v.Datacenters {
		dc := &v.Datacenters[i]
		names(dc.Name)
		c.scope(dc.Name, func() { hosts += c.datacenter(dc, vms) })
	}
	if v.Fillers > 0 && hosts == 0 {
		c.errorf("fillers need a host")
	}
}

func (c *checker) folders(folders []FolderSpec) {
	for _, f := range folders {
		if len(split(f.Path)) == 0 {
			c.errorf("a folder has no path")
		}
	}
}

func (c *checker) datacenter(dc *DatacenterSpec, vms func(string)) (hosts int) {
	c.folders(dc.VMFolders)
	compute := c.unique("hosts and clusters")
	names := c.unique("hosts")
	c.hosts(dc.Name, dc.Hosts, names)
	for _, h := range dc.Hosts {
		compute(h.Name)
	}
	hosts = len(dc.Hosts)
	for i := range dc.Clusters {
		cl := &dc.Clusters[i]
		compute(cl.Name)
		c.scope(cl.Name, func() {
			c.hosts(cl.Name, cl.Hosts, names)
			c.hostGroups(cl)
			c.pools(cl.Pools)
		})
		hosts += len(cl.Hosts)
	}
	for i := range dc.VMs {
		vm := &dc.VMs[i]
		for _, name := range vm.names() {
			vms(name)
		}
		c.scope(vm.Name, func() { c.vm(vm) })
	}
	return hosts
}

func (c *checker) hosts(owner string, hosts Hosts, names func(string)) {
	for i := range hosts {
		if hosts[i].Name == "" {
			hosts[i].Name = fmt.Sprintf("%s-host-%d", owner, i+1)
		}
		names(hosts[i].Name)
	}
}

func (c *checker) hostGroups(cl *ClusterSpec) {
	names := make(map[string]bool)
	for _, g := range cl.HostGroups {
		if g.Name == "" || names[g.Name] {
			c.errorf("hostGroups: name %q is missing or taken", g.Name)
		}
		names[g.Name] = true
		for _, name := range g.Hosts {
			if !slices.ContainsFunc(cl.Hosts, func(h HostSpec) bool { return h.Name == name }) {
				c.errorf("hostGroups: host %q is not in the cluster", name)
			}
		}
	}
}

func (c *checker) pools(pools []PoolSpec) {
	names := c.unique("pools")
	for _, p := range pools {
		names(p.Name)
		if p.VApp && len(p.Pools) > 0 {
			c.errorf("vApp %q has pools", p.Name)
		}
		c.scope(p.Name, func() { c.pools(p.Pools) })
	}
}

func (c *checker) vm(vm *VMSpec) {
	if vm.Count < 0 {
		c.errorf("count is negative")
	}
	c.oneOf("power", vm.Power, "", "on", "off", "suspended")
	c.oneOf("metadataEncoding", vm.Encoding, "", "base64", "gzip+base64", "plain")
	c.oneOf("connection", vm.Connection, "", "connected", "disconnected", "inaccessible", "orphaned", "invalid")
	if vm.UUID != "" {
		if _, err := uuid.Parse(vm.UUID); err != nil || len(vm.UUID) != 36 {
			c.errorf("uuid %q is no UUID", vm.UUID)
		}
	}
	addresses := 0
	for _, nic := range vm.NICs {
		for _, ip := range nic.IPs {
			addresses++
			if _, err := parseIP(ip); err != nil {
				c.errorf("nics: %q is no IP address, with or without a prefix length", ip)
			}
		}
	}
	if vm.Count > 0 && (vm.UUID != "" || addresses > 0) {
		c.errorf("with count, uuid and ips would be the same for all")
	}
}

func (c *checker) oneOf(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.errorf("%s is %q, not one of %s", field, value, strings.Join(allowed[1:], ", "))
	}
}

func (vm *VMSpec) names() []string {
	if vm.Count == 0 {
		return []string{vm.Name}
	}
	if vm.Name == "" {
		return []string{""}
	}
	names := make([]string, max(vm.Count, 0))
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", vm.Name, i)
	}
	return names
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
