package topology

import "testing"

// aFleetsPaths are the paths of a machine as most fleets tag them: the region on
// the datacenter, the zone on the cluster, and a tag of something else.
func aFleetsPaths() []Path {
	object := func(kind, path string, tags ...Tag) *Object {
		return &Object{Ref: Ref{VCenter: "east", Type: kind, ID: path}, Name: path[max(0, len(path)-2):], Path: path, Tags: tags}
	}
	above := []*Object{
		object("ClusterComputeResource", "/dc1/host/c1", Tag{"backup", "gold"}, Tag{"k8s-zone", "a"}),
		object("Folder", "/dc1/host"),
		object("Datacenter", "/dc1", Tag{"k8s-region", "east"}),
		object("Folder", "/"),
	}
	compute := append([]*Object{object("HostSystem", "/dc1/host/c1/h1", Tag{"rack", "r1"})}, above...)
	pool := append([]*Object{object("ResourcePool", "/dc1/host/c1/Resources")}, above...)
	folder := []*Object{object("VirtualMachine", "/dc1/vm/prod/m1"), object("Folder", "/dc1/vm/prod"), object("Folder", "/dc1/vm"), above[2], above[3]}
	return []Path{{Kind: ComputePath, Objects: compute}, {Kind: PoolPath, Objects: pool}, {Kind: FolderPath, Objects: folder}}
}

func BenchmarkResolve(b *testing.B) {
	regionAndZone := Rules{
		{Label: LabelRegion, Category: "k8s-region", Required: true},
		{Label: LabelZone, Category: "k8s-zone", Required: true},
	}
	conflicting := aFleetsPaths()
	conflicting[0].Objects[0].Tags = append(conflicting[0].Objects[0].Tags, Tag{"k8s-zone", "near"})
	for _, c := range []struct {
		name   string
		policy Policy
		paths  []Path
	}{
		{"tags", Policy{Rules: regionAndZone}, aFleetsPaths()},
		{"nearest", Policy{Rules: regionAndZone, Precedence: PrecedenceNearest}, aFleetsPaths()},
		{"levels", Policy{Rules: regionAndZone, Levels: Rules{
			{Label: "example.com/rack", Category: "rack"},
			{Label: "example.com/host", Inventory: InventoryHost},
			{Label: "example.com/none", Category: "none"},
		}}, aFleetsPaths()},
		{"inventory", Policy{Rules: Rules{
			{Label: LabelRegion, Inventory: InventoryDatacenter, Required: true},
			{Label: LabelZone, Inventory: InventoryCluster, Required: true},
		}}, aFleetsPaths()},
		{"conflict", Policy{Rules: regionAndZone}, conflicting},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Resolve(c.policy, c.paths); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
