package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// groupsIn writes groups as "a: host-1 host-2".
func groupsIn(groups []types.BaseClusterGroupInfo) string {
	var all []string
	for _, g := range groups {
		g := g.(*types.ClusterHostGroup)
		var hosts []string
		for _, ref := range g.Host {
			hosts = append(hosts, ref.Value)
		}
		all = append(all, g.Name+": "+strings.Join(hosts, " "))
	}
	return strings.Join(all, ", ")
}

// TestHostGroupsAreTold: a client that waits for the groups of a cluster, by either of
// the two paths, gets each change, and finds the same when it asks.
func TestHostGroupsAreTold(t *testing.T) {
	f := start(t, `
vcenters:
- name: east
  datacenters:
  - name: dc
    clusters:
    - {name: c, hosts: [h1, h2], hostGroups: [{name: a, hosts: [h1]}, {name: b, hosts: h2}]}
    - {name: d, hosts: [h3]}
`)
	v := f.VCenter("east")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := login(t, v)
	ref := func(name string) types.ManagedObjectReference {
		r, err := v.Reference(name)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	cluster, h1, h2 := ref("c"), ref("h1").Value, ref("h2").Value
	for _, path := range []string{"configurationEx.group", "configurationEx"} {
		pc, err := property.DefaultCollector(c.Client).Create(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pc.CreateFilter(ctx, types.CreateFilter{Spec: types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{{Obj: cluster}},
			PropSet:   []types.PropertySpec{{Type: "ClusterComputeResource", PathSet: []string{path}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		w := &watcherClient{c: c, pc: pc}
		expect := func(want string) {
			t.Helper()
			got, err := w.next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			changes := got[cluster.Value].ChangeSet
			last := ""
			for _, change := range changes {
				switch v := change.Val.(type) {
				case types.ArrayOfClusterGroupInfo:
					last = groupsIn(v.ClusterGroupInfo)
				case types.ClusterConfigInfoEx:
					last = groupsIn(v.Group)
				}
				if change.Name != path {
					t.Errorf("%s is reported for %s", change.Name, path)
				}
			}
			var read mo.ClusterComputeResource
			if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, cluster, []string{"configurationEx"}, &read); err != nil {
				t.Fatal(err)
			}
			if now := groupsIn(read.ConfigurationEx.(*types.ClusterConfigInfoEx).Group); last != want || now != want {
				t.Errorf("%s: reported %q, read %q, want %q", path, last, now, want)
			}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		expect(fmt.Sprintf("a: %s, b: %s", h1, h2))
		do(v.AddToGroup("h2", "a"))
		expect(fmt.Sprintf("a: %s %s, b: %s", h1, h2, h2))
		do(v.TakeFromGroup("h2", "b"))
		expect(fmt.Sprintf("a: %s %s, b: ", h1, h2))
		do(v.RegroupHost("h2", "b"))
		expect(fmt.Sprintf("a: %s, b: %s", h1, h2))
	}
	for _, err := range []error{v.AddToGroup("nobody", "a"), v.TakeFromGroup("h1", "b"), v.SetFaultDomain("c", "x")} {
		if err == nil {
			t.Error("what is not possible is done")
		}
	}
	if err := v.MoveHost("h1", "d"); err != nil {
		t.Fatal(err)
	}
	var read mo.ClusterComputeResource
	if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, cluster, []string{"configurationEx"}, &read); err != nil {
		t.Fatal(err)
	}
	if got := groupsIn(read.ConfigurationEx.(*types.ClusterConfigInfoEx).Group); slices.Contains(strings.Fields(got), h1) {
		t.Errorf("the cluster that the host has left has %s", got)
	}
}
