package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
	"vzones/vcenter/faults"
)

// A Tree is a set of objects with their ancestors.
type Tree struct {
	root    types.ManagedObjectReference
	objects map[types.ManagedObjectReference]properties
	paths   map[types.ManagedObjectReference]string
	weight  int
	err     error
}

// NewTree returns an empty tree below a root folder.
func NewTree(root types.ManagedObjectReference) *Tree {
	return &Tree{
		root:    root,
		objects: map[types.ManagedObjectReference]properties{},
		paths:   map[types.ManagedObjectReference]string{},
	}
}

// maxWeight is in bytes. A VM takes 3 KiB, a host 2 KiB.
const maxWeight = 64 << 20

const errWeight = faults.RejectedAnswer("the data of the Nodes' VMs and their ancestors exceeds 64 MiB: the vCenter is not read")

// Err returns the bound that the tree exceeds, if any. The tree then lacks objects.
func (t *Tree) Err() error { return t.err }

func (t *Tree) store(ref types.ManagedObjectReference, p properties, oldWeight int) {
	newWeight := p.weight()
	if err := faults.CheckRef(ref); err != nil {
		t.err = err
		return
	}
	if t.weight+newWeight-oldWeight > maxWeight {
		t.err = errWeight
		t.weight -= oldWeight
		delete(t.objects, ref)
		return
	}
	t.weight += newWeight - oldWeight
	t.objects[ref] = p
}

// Add adds or replaces an object.
func (t *Tree) Add(o *types.ObjectContent) {
	clear(t.paths)
	p := make(properties, min(len(o.PropSet), len(VMProperties)))
	for _, d := range o.PropSet {
		p.set(d.Name, d.Val)
	}
	p.setUnreadable(o.MissingSet)
	t.Remove(o.Obj)
	t.store(o.Obj, p, 0)
}

// Apply applies a filter's change of an object.
func (t *Tree) Apply(u *types.ObjectUpdate) {
	// A rename or a move changes the paths of all descendants.
	clear(t.paths)
	if u.Kind == types.ObjectUpdateKindLeave {
		t.Remove(u.Obj)
		return
	}
	p := t.objects[u.Obj]
	oldWeight := 0
	if p == nil {
		p = properties{}
	} else {
		oldWeight = p.weight()
	}
	for _, change := range u.ChangeSet {
		p.set(change.Name, change.Val)
	}
	p.setUnreadable(u.MissingSet)
	t.store(u.Obj, p, oldWeight)
}

// Remove removes an object.
func (t *Tree) Remove(ref types.ManagedObjectReference) {
	if p := t.objects[ref]; p != nil {
		t.weight -= p.weight()
		delete(t.objects, ref)
	}
}

// Property returns the converted value of a property, nil if it is unknown.
func (t *Tree) Property(ref types.ManagedObjectReference, name string) any {
	return t.objects[ref][name]
}

// SetUnread records why a property cannot be read.
func (t *Tree) SetUnread(ref types.ManagedObjectReference, name string, err error) {
	if p := t.objects[ref]; p != nil {
		oldWeight := p.weight()
		p[name] = unreadProperty{err}
		t.store(ref, p, oldWeight)
	}
}

// Name returns an object's name, empty if it cannot be read.
func (t *Tree) Name(ref types.ManagedObjectReference) string { return t.objects[ref].string("name") }

// OfType returns the objects of a type, sorted by ID.
func (t *Tree) OfType(kind string) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for ref := range t.objects {
		if ref.Type == kind {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b types.ManagedObjectReference) int { return cmp.Compare(a.Value, b.Value) })
	return refs
}

// parentRef returns the vApp for a VM in a vApp, which has no folder.
func (t *Tree) parentRef(ref types.ManagedObjectReference) (types.ManagedObjectReference, bool) {
	p := t.objects[ref]
	if above, ok := p.ref("parent"); ok {
		return above, true
	}
	return p.ref("parentVApp")
}

type pathStart struct {
	kind          topology.PathKind
	ref           types.ManagedObjectReference
	unsetProperty string
}

// pathStarts returns a VM's paths in the order of placement. A VM that is no template has all of
// them: a missing property is not assigned yet, or not readable.
func (t *Tree) pathStarts(vm types.ManagedObjectReference) []pathStart {
	pathFrom := func(kind topology.PathKind, property string) pathStart {
		ref, ok := t.objects[vm].ref(property)
		if !ok {
			return pathStart{kind: kind, unsetProperty: property}
		}
		return pathStart{kind: kind, ref: ref}
	}
	return []pathStart{
		pathFrom(topology.ComputePath, "runtime.host"), pathFrom(topology.PoolPath, "resourcePool"),
		{kind: topology.FolderPath, ref: vm},
	}
}

const (
	// maxDepth exceeds any vCenter's depth. Parents may form a loop, for example after a move between
	// two pages of a read.
	maxDepth = 100
	// maxPath and maxName are in bytes; vCenter limits names to 80 characters.
	maxPath = 1024
	maxName = 320
)

// Path returns the inventory path of an object. It lacks the upper end if ancestors cannot be read,
// or if it exceeds maxPath.
func (t *Tree) Path(ref types.ManagedObjectReference) string {
	if ref == t.root {
		return "/"
	}
	if p, ok := t.paths[ref]; ok {
		return p
	}
	path := "/" + t.Name(ref)
	above, ok := t.parentRef(ref)
	for range maxDepth {
		if !ok || above == t.root || t.objects[above] == nil {
			break
		}
		if cached, isCached := t.paths[above]; isCached {
			path = cached + path
			break
		}
		path = "/" + t.Name(above) + path
		above, ok = t.parentRef(above)
	}
	if excess := len(path) - maxPath; excess > 0 {
		path = "…" + strings.ToValidUTF8(path[excess:], "")
	}
	t.paths[ref] = path
	return path
}

func (t *Tree) addWithAncestors(set map[types.ManagedObjectReference]bool, ref types.ManagedObjectReference) {
	for range maxDepth {
		if t.objects[ref] == nil || set[ref] {
			return
		}
		set[ref] = true
		above, ok := t.parentRef(ref)
		if !ok || ref == t.root {
			return
		}
		ref = above
	}
}

// Parent returns the parent of an object, or an error if it cannot be read.
func (t *Tree) Parent(vcenter string, ref types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	above, ok := t.parentRef(ref)
	if !ok {
		return above, fmt.Errorf("the parent of %s cannot be read: give the account the role Read-only there", located(vcenter, ref, t.Path(ref)))
	}
	return above, nil
}

func (t *Tree) pathToRoot(vcenter string, ref types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	var refs []types.ManagedObjectReference
	for range maxDepth {
		if t.objects[ref] == nil {
			return refs, fmt.Errorf("%s cannot be read: give the account the role Read-only there", located(vcenter, ref, ""))
		}
		refs = append(refs, ref)
		if ref == t.root {
			return refs, nil
		}
		above, err := t.Parent(vcenter, ref)
		if err != nil {
			return refs, err
		}
		ref = above
	}
	return refs, fmt.Errorf("the ancestors of %s form a loop: reading the inventory again", located(vcenter, ref, ""))
}

func located(vcenter string, ref types.ManagedObjectReference, path string) string {
	return topology.Ref{VCenter: vcenter, Type: ref.Type, ID: ref.Value}.Located(path)
}
