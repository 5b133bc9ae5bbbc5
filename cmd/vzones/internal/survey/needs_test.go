package survey_test

import (
	"testing"

	"vzones/cmd/vzones/internal/survey"
	"vzones/topology"
	"vzones/vcenter"
)

// TestNeedsNameEachTypeOnce: no object is reported twice for one privilege.
func TestNeedsNameEachTypeOnce(t *testing.T) {
	for _, u := range []vcenter.Requirements{
		{}, {Tags: true}, {HostGroups: true}, {FaultDomains: true}, {Tags: true, HostGroups: true, FaultDomains: true},
		{Tags: true, Paths: []topology.PathKind{topology.FolderPath}},
	} {
		seen := map[string]bool{}
		for _, n := range survey.NeedsOf(u) {
			for _, kind := range n.Types {
				key := n.Privilege + " on " + kind
				if seen[key] {
					t.Errorf("%+v: %s twice", u, key)
				}
				seen[key] = true
			}
		}
		if !seen["System.Read on VirtualMachine"] || seen["System.Read on Datacenter"] != u.Tags {
			t.Errorf("%+v: %v", u, seen)
		}
		if walked := u.Tags && len(u.Paths) == 0; seen["System.Read on ResourcePool"] != walked {
			t.Errorf("%+v: %v", u, seen)
		}
	}
}
