package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// A vCenter may report any parent and any name.
func TestPathsAreBounded(t *testing.T) {
	folder := func(i int) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: "Folder", Value: fmt.Sprint("group-v", i)}
	}
	add := func(tree *Tree, i, parent int, name string) {
		tree.Add(&types.ObjectContent{Obj: folder(i), PropSet: []types.DynamicProperty{{Name: "name", Val: name}, {Name: "parent", Val: folder(parent)}}})
	}
	for _, c := range []struct {
		name  string
		build func(*Tree)
		ends  bool
	}{
		{"its own parent", func(tree *Tree) { add(tree, 1, 1, "own") }, false},
		{"a loop of two", func(tree *Tree) { add(tree, 1, 2, "a"); add(tree, 2, 1, "b") }, false},
		{"a loop above it", func(tree *Tree) { add(tree, 1, 2, "a"); add(tree, 2, 3, "b"); add(tree, 3, 2, "c") }, false},
		{"nested too deeply, with long names", func(tree *Tree) {
			for i := range 990 {
				add(tree, 990-i, 989-i, strings.Repeat("ä", 1<<16))
			}
		}, false},
		{"as deep as a vCenter can be", func(tree *Tree) {
			for i := range 20 {
				add(tree, 20-i, 19-i, strings.Repeat("n", 40))
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := NewTree(folder(0))
			tree.Add(&types.ObjectContent{Obj: folder(0)})
			c.build(tree)
			total := 0
			for ref := range tree.objects {
				path := tree.Path(ref)
				if len(path) > maxPath+len("…") {
					t.Fatalf("the path of %s has %d bytes, want at most %d", ref.Value, len(path), maxPath)
				}
				total += len(path)
			}
			if limit := (maxPath + len("…")) * len(tree.objects); total > limit {
				t.Errorf("all paths have %d bytes, want at most %d", total, limit)
			}
			refs, err := tree.pathToRoot("east", folder(1))
			if c.name == "nested too deeply, with long names" {
				refs, err = tree.pathToRoot("east", folder(990))
			}
			if len(refs) > maxDepth || (err == nil) != c.ends {
				t.Errorf("%d objects lead upwards, %v; want at most %d, and an end: %t", len(refs), err, maxDepth, c.ends)
			}
		})
	}
}
