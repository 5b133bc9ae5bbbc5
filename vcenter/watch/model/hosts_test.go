package model

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
)

// TestGroupsOfAnotherCluster: between two pages of a change a host may be in a cluster that
// is not read yet, and its old cluster may still list it. That says nothing.
func TestGroupsOfAnotherCluster(t *testing.T) {
	ref := func(kind, id string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: id}
	}
	host, before, now := ref("HostSystem", "host-1"), ref("ClusterComputeResource", "domain-c1"), ref("ClusterComputeResource", "domain-c2")
	tree := NewTree(ref("Folder", "group-d1"))
	set := func(of types.ManagedObjectReference, name string, value any) {
		tree.Apply(&types.ObjectUpdate{Obj: of, Kind: types.ObjectUpdateKindModify, ChangeSet: []types.PropertyChange{{Name: name, Val: value}}})
	}
	group := func(name string) types.ClusterConfigInfoEx {
		return types.ClusterConfigInfoEx{Group: []types.BaseClusterGroupInfo{
			&types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Host: []types.ManagedObjectReference{host}},
			&types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "vms"}, Vm: []types.ManagedObjectReference{host}},
		}}
	}
	groups := func() *topology.Membership {
		got, _ := (&Memberships{Facts: HostFacts{Groups: true}}).Of(tree, host)
		return got
	}
	set(host, "name", "h")
	if got := groups(); got != nil {
		t.Errorf("without a parent: %v", got)
	}
	set(host, "parent", before)
	set(before, ClusterConfig, group("site-a"))
	if got := groups(); got == nil || got.Err != nil || !slices.Equal(got.Names, []string{"site-a"}) {
		t.Errorf("in the first cluster: %v", got)
	}
	set(host, "parent", now)
	if got := groups(); got != nil {
		t.Errorf("in one that is not read: %v", got)
	}
	set(now, "name", "c2")
	if got := groups(); got == nil || got.Err != nil || got.Names != nil {
		t.Errorf("in one without groups: %v", got)
	}
	set(now, ClusterConfig, group("site-b"))
	if got := groups(); got == nil || !slices.Equal(got.Names, []string{"site-b"}) {
		t.Errorf("in the second cluster: %v", got)
	}
	set(now, ClusterConfig, nil)
	if got := groups(); got == nil || got.Err != nil || got.Names != nil {
		t.Errorf("without groups again: %v", got)
	}
	if domain := (&Memberships{}).groupsOf(tree, before); domain != nil {
		t.Errorf("of what is not in a cluster: %v", domain)
	}
}
