package fleet

import (
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	tests := map[string][]string{
		"":                                {"no vcenters"},
		"vcentres: []":                    {"line 1", "vcentres"},
		"vcenters:\n- name: a\n  tag: {}": {"line 3", "field tag not found"},
		"vcenters: [{name: a}, {name: a}, {name: b/c}, {}]": {
			`vcenters: name "a" is taken`, `name "b/c" contains`, "a name is missing",
		},
		"vcenters: [{name: a, address: 10.0.0.1, fillers: 1}]":                                   {"no IPv4 loopback address", "a: fillers need a host"},
		"vcenters:\n- name: a\n  datacenters:\n  - name: d\n    hosts:\n    - {name: h, tag: x}": {"line 6", "field tag not found in a host"},
		"vcenters:\n- {name: a, datacenters: [{name: d, hosts: many}]}":                          {"line 2", `not "many"`},
		"vcenters: [{name: a, datacenters: [{name: d, hosts: 1, vms: [{name: v, power: up, uuid: '1', nics: [{ips: [ten]}]}]}]}]": {
			`a/d/v: power is "up", not one of on, off, suspended`, `"1" is no UUID`, `"ten" is no IP`,
		},
		"vcenters: [{name: a, datacenters: [{name: d, clusters: [{name: c, hosts: 1, hostGroups: [{name: g, hosts: x}, {name: g}]}]}]}]": {
			`a/d/c: hostGroups: host "x" is not in the cluster`, `hostGroups: name "g" is missing or taken`,
		},
		"vcenters: [{name: a, datacenters: [{name: d, hosts: 1, vms: [{name: v-0000}, {name: v, count: 2, uuid: 422e4956-ad22-1139-6d59-68cc8f26bc90}]}]}]": {
			`vms: name "v-0000" is taken`, "with count",
		},
	}
	for description, wants := range tests {
		_, err := Parse([]byte(description))
		if err == nil {
			t.Errorf("%s\nis accepted", description)
			continue
		}
		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s\n%v\ndoes not say %q", description, err, want)
			}
		}
	}
}
