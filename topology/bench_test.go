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
	rules := Rules{
		{Label: LabelRegion, Category: "k8s-region", Required: true},
		{Label: LabelZone, Category: "k8s-zone", Required: true},
	}
	paths := aFleetsPaths()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Resolve(rules, paths); err != nil {
			b.Fatal(err)
		}
	}
}
