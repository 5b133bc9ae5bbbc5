package config

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A Difference is what differs between two configurations. Its zero value says that nothing
// does.
type Difference struct {
	// Any reports whether anything does: also what has no effect, such as a warning, or where
	// in which file something is written, which the others do not count.
	Any bool
	// VCenters are those that changed: in the order of the configuration that is
	// newer, and then those which it does not have.
	VCenters []VCenterDifference
	// Changes are what has changed in each vCenter and beside them, with old and new values. Of
	// passwords and certificates they say only that they have. What has no effect is not among them.
	Changes []string
}

// A VCenterDifference is what differs between two configurations of one vCenter, by name.
// Either it was added, or removed, or some of its settings changed.
type VCenterDifference struct {
	Name           string
	Added, Removed bool
	// Address is the server or the port: another one may be another vCenter.
	Address bool
	// Credentials are the account in the file, and the Secret and the directory with others.
	Credentials bool
	// Trust is which certificate the server may have, but not which file that is from.
	Trust bool
	// Machines reports whether different machines are watched: other datacenters, or another index.
	Machines bool
	// The others are named as the fields of VCenter.
	RoundTrips, IPFamilies bool
}

// Diff returns what differs between two configurations.
func Diff(before, now *Config) Difference {
	d := Difference{
		Any: !reflect.DeepEqual(before, now),
	}
	was, is := before.byName(), now.byName()
	for i := range now.VCenters {
		v := &now.VCenters[i]
		if old := was[v.Name]; old == nil {
			d.VCenters = append(d.VCenters, VCenterDifference{Name: v.Name, Added: true})
			d.Changes = append(d.Changes, fmt.Sprintf("vCenter %q added", v.Name))
		} else if !old.Equal(v) {
			d.VCenters = append(d.VCenters, old.Diff(v))
			d.Changes = append(d.Changes, fmt.Sprintf("vCenter %q changed: %s", v.Name, strings.Join(old.changes(v), ", ")))
		}
	}
	for i := range before.VCenters {
		if name := before.VCenters[i].Name; is[name] == nil {
			d.VCenters = append(d.VCenters, VCenterDifference{Name: name, Removed: true})
			d.Changes = append(d.Changes, fmt.Sprintf("vCenter %q removed, whose Nodes stay", name))
		}
	}
	d.Changes = append(d.Changes, changes(before.settings(), now.settings())...)
	return d
}

func (c *Config) byName() map[string]*VCenter {
	all := make(map[string]*VCenter, len(c.VCenters))
	for i := range c.VCenters {
		all[c.VCenters[i].Name] = &c.VCenters[i]
	}
	return all
}

// Diff returns what differs between two configurations of the vCenter.
func (v *VCenter) Diff(now *VCenter) VCenterDifference {
	return VCenterDifference{
		Name:    now.Name,
		Address: v.Server != now.Server || v.Port != now.Port,
		Credentials: v.User != now.User || !v.Password.Equal(now.Password) || v.Secret != now.Secret ||
			v.SecretsDirectory != now.SecretsDirectory,
		Trust:      v.Insecure != now.Insecure || !bytes.Equal(v.CA, now.CA) || v.Thumbprint != now.Thumbprint,
		Machines:   !slices.Equal(v.Datacenters, now.Datacenters),
		RoundTrips: v.RoundTrips != now.RoundTrips,
		IPFamilies: !slices.Equal(v.IPFamilies, now.IPFamilies),
	}
}

// Equal reports whether both are the same vCenter with the same settings and credentials:
// nothing has to be done where one takes the place of the other.
func (v *VCenter) Equal(o *VCenter) bool {
	return v.Name == o.Name && v.Diff(o) == VCenterDifference{Name: o.Name}
}

// String returns the changes in one line.
func (d Difference) String() string {
	if len(d.Changes) == 0 {
		return "nothing that has an effect"
	}
	return strings.Join(d.Changes, "; ")
}
