package privileges

import (
	"slices"
	"strings"

	"vzones/config"
)

// Where is what a role is granted on.
type Where string

// What a role may be granted on.
const (
	// Global is a global permission, which is not one on an object of the inventory.
	Global     Where = "global"
	Folder     Where = "folder"
	Datacenter Where = "datacenter"
)

// A Grant is where an account gets the role.
type Grant struct {
	Where Where
	// Object is an inventory path, "/" for the root folder, or for a datacenter what the
	// configuration names it by. It is empty for a global permission.
	Object string
	// Propagate reports whether the permission propagates to children.
	Propagate bool
	// For says what it is for, for a person, in order.
	For []string
}

// Grants returns where the role is granted for a configuration of one vCenter, that limits it to
// these datacenters, or not if there are none.
func Grants(u Uses, datacenters []string) []Grant {
	var all []Grant
	purposes := purposesOf(u)
	if len(datacenters) == 0 {
		all = append(all, Grant{Folder, "/", true, purposes})
	} else {
		if u.Tags {
			all = append(all, above(datacenters)...)
		}
		for _, d := range datacenters {
			all = append(all, Grant{Datacenter, d, true, purposes})
		}
	}
	if u.Tags {
		// vCenter has no other place for permissions on all tags and categories.
		all = append(all, Grant{Global, "", true, []string{"reading tags and tag categories"}})
	}
	return all
}

func purposesOf(u Uses) []string {
	var all []string
	for _, n := range For(u) {
		all = append(all, n.For)
	}
	return all
}

// above returns the folders above datacenters as far as the configuration tells them, for the tags
// on these alone.
func above(datacenters []string) []Grant {
	folders := []string{"/"}
	for _, d := range datacenters {
		if form, _ := config.FormOfDatacenter(d); form != config.DatacenterPath {
			continue
		}
		path := ""
		elements := strings.FieldsFunc(d, func(r rune) bool { return r == '/' })
		for _, name := range elements[:max(len(elements)-1, 0)] {
			path += "/" + name
			folders = append(folders, path)
		}
	}
	slices.Sort(folders)
	var all []Grant
	for _, f := range slices.Compact(folders) {
		all = append(all, Grant{Folder, f, false, []string{"reading tags of this folder"}})
	}
	return all
}
