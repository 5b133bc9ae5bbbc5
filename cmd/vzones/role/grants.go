package role

import (
	"slices"
	"strings"

	"vzones/cmd/vzones/internal/survey"
	"vzones/config"
	"vzones/vcenter"
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

// grantsOf returns where the role is granted for a configuration of one vCenter, that limits it to
// these datacenters, or not if there are none.
func grantsOf(needs vcenter.Requirements, datacenters []string) []Grant {
	var all []Grant
	purposes := purposesOf(needs)
	if len(datacenters) == 0 {
		all = append(all, Grant{Folder, "/", true, purposes})
	} else {
		if needs.Tags {
			all = append(all, above(datacenters)...)
		}
		for _, d := range datacenters {
			all = append(all, Grant{Datacenter, d, true, purposes})
		}
	}
	if needs.Tags {
		// vCenter has no other place for permissions on all tags and categories.
		all = append(all, Grant{Global, "", true, []string{"reading tags and tag categories"}})
	}
	return all
}

func purposesOf(needs vcenter.Requirements) []string {
	var all []string
	for _, n := range survey.NeedsOf(needs) {
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
