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

// A Tree is the part of the inventory above a set of objects, which it has too.
type Tree struct {
	root    types.ManagedObjectReference
	objects map[types.ManagedObjectReference]properties
	paths   map[types.ManagedObjectReference]string
	// weight is the sum of the objects' weights.
	weight int
	// err is the bound that the objects exceed, nil if they exceed none.
	err error
}

// NewTree returns an empty tree below a root folder.
func NewTree(root types.ManagedObjectReference) *Tree {
	return &Tree{
		root:    root,
		objects: map[types.ManagedObjectReference]properties{},
		paths:   map[types.ManagedObjectReference]string{},
	}
}

// maxWeight bounds the memory of a tree, in bytes. A VM takes 3 KiB, and a host 2 KiB.
const maxWeight = 64 << 20

// errWeight is the error of a tree whose objects exceed maxWeight.
const errWeight = faults.RefusedAnswer("what the vCenter reports of the Nodes' VMs, and of what is above them, takes more than 64 MiB: it is not read")

// Err returns the bound that the objects of the tree exceed, nil if they exceed none. The tree then lacks objects.
func (t *Tree) Err() error { return t.err }

// keep keeps an object in the place of a previous one, unless that exceeds a bound.
func (t *Tree) keep(ref types.ManagedObjectReference, p properties, before int) {
	after := p.weight()
	if err := faults.CheckRef(ref); err != nil {
		t.err = err
		return
	}
	if t.weight+after-before > maxWeight {
		t.err = errWeight
		t.weight -= before
		delete(t.objects, ref)
		return
	}
	t.weight += after - before
	t.objects[ref] = p
}

// Add adds an object as it was read.
func (t *Tree) Add(o *types.ObjectContent) {
	clear(t.paths)
	p := make(properties, min(len(o.PropSet), len(MachineProperties)))
	for _, d := range o.PropSet {
		p.set(d.Name, d.Val)
	}
	p.setUnreadable(o.MissingSet)
	t.Remove(o.Obj)
	t.keep(o.Obj, p, 0)
}

// Apply applies a change of an object.
func (t *Tree) Apply(u *types.ObjectUpdate) {
	// A renamed or moved object changes the paths of all below it.
	clear(t.paths)
	if u.Kind == types.ObjectUpdateKindLeave {
		t.Remove(u.Obj)
		return
	}
	p := t.objects[u.Obj]
	before := 0
	if p == nil {
		p = properties{}
	} else {
		before = p.weight()
	}
	for _, change := range u.ChangeSet {
		p.set(change.Name, change.Val)
	}
	p.setUnreadable(u.MissingSet)
	t.keep(u.Obj, p, before)
}

// Remove forgets an object.
func (t *Tree) Remove(ref types.ManagedObjectReference) {
	if p := t.objects[ref]; p != nil {
		t.weight -= p.weight()
		delete(t.objects, ref)
	}
}

// Property returns what is kept of a property, nil if it is not known.
func (t *Tree) Property(ref types.ManagedObjectReference, name string) any {
	return t.objects[ref][name]
}

// SetUnread records why a property of an object cannot be read.
func (t *Tree) SetUnread(ref types.ManagedObjectReference, name string, err error) {
	if p := t.objects[ref]; p != nil {
		before := p.weight()
		p[name] = unreadProperty{err}
		t.keep(ref, p, before)
	}
}

// Name returns an object's name, empty if it cannot be read.
func (t *Tree) Name(ref types.ManagedObjectReference) string { return t.objects[ref].string("name") }

// OfType returns the objects of a type in the order of their IDs.
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

// parent returns the object above ref. A machine in a vApp has no folder, but
// the vApp.
func (t *Tree) parent(ref types.ManagedObjectReference) (types.ManagedObjectReference, bool) {
	p := t.objects[ref]
	if above, ok := p.ref("parent"); ok {
		return above, true
	}
	return p.ref("parentVApp")
}

// start is where a path upwards from a machine begins.
type start struct {
	kind topology.PathKind
	ref  types.ManagedObjectReference
	// unset is the property of the machine that does not say where, empty if it does.
	unset string
}

// starts returns where the paths upwards from a machine begin, in the order in
// which placement tries them. A machine that is no template has all of them: one
// that does not show has not been assigned yet, or may not be read.
func (t *Tree) starts(machine types.ManagedObjectReference) []start {
	from := func(kind topology.PathKind, property string) start {
		ref, ok := t.objects[machine].ref(property)
		if !ok {
			return start{kind: kind, unset: property}
		}
		return start{kind: kind, ref: ref}
	}
	return []start{
		from(topology.ComputePath, "runtime.host"), from(topology.PoolPath, "resourcePool"),
		{kind: topology.FolderPath, ref: machine},
	}
}

const (
	// maxDepth is more levels than a vCenter has. A vCenter decides what the parent of an object is, even the
	// object itself: two pages of a reading, and a move between them, make a loop.
	maxDepth = 100
	// maxPath and maxName are more bytes than an inventory path and a name of a vCenter have: names are limited
	// to 80 characters.
	maxPath = 1024
	maxName = 320
)

// Path returns the inventory path of an object. If ancestors cannot be read, or the path is longer than any that
// a vCenter has, it begins with the nearest ancestors.
func (t *Tree) Path(ref types.ManagedObjectReference) string {
	if ref == t.root {
		return "/"
	}
	if p, ok := t.paths[ref]; ok {
		return p
	}
	path := "/" + t.Name(ref)
	above, ok := t.parent(ref)
	for range maxDepth {
		if !ok || above == t.root || t.objects[above] == nil {
			break
		}
		if known, isKnown := t.paths[above]; isKnown {
			path = known + path
			break
		}
		path = "/" + t.Name(above) + path
		above, ok = t.parent(above)
	}
	if long := len(path) - maxPath; long > 0 {
		path = "…" + strings.ToValidUTF8(path[long:], "")
	}
	t.paths[ref] = path
	return path
}

// addUpTo adds the objects from ref to the root to a set, up to one that is in it already: so
// are those above it.
func (t *Tree) addUpTo(set map[types.ManagedObjectReference]bool, ref types.ManagedObjectReference) {
	for range maxDepth {
		if t.objects[ref] == nil || set[ref] {
			return
		}
		set[ref] = true
		above, ok := t.parent(ref)
		if !ok || ref == t.root {
			return
		}
		ref = above
	}
}

// Above returns the object above one. The error says that it cannot be read.
func (t *Tree) Above(vcenter string, ref types.ManagedObjectReference) (types.ManagedObjectReference, error) {
	above, ok := t.parent(ref)
	if !ok {
		return above, fmt.Errorf("the parent of %s cannot be read: give the account the role Read-only there", located(vcenter, ref, t.Path(ref)))
	}
	return above, nil
}

// upTo returns the objects of a vCenter from ref to the root. The error says why the root
// was not reached.
func (t *Tree) upTo(vcenter string, ref types.ManagedObjectReference) ([]types.ManagedObjectReference, error) {
	var refs []types.ManagedObjectReference
	for range maxDepth {
		if t.objects[ref] == nil {
			return refs, fmt.Errorf("%s cannot be read: give the account the role Read-only there", located(vcenter, ref, ""))
		}
		refs = append(refs, ref)
		if ref == t.root {
			return refs, nil
		}
		above, err := t.Above(vcenter, ref)
		if err != nil {
			return refs, err
		}
		ref = above
	}
	return refs, fmt.Errorf("the ancestors of %s do not end: the inventory is read again", located(vcenter, ref, ""))
}

func located(vcenter string, ref types.ManagedObjectReference, path string) string {
	return topology.Ref{VCenter: vcenter, Type: ref.Type, ID: ref.Value}.Located(path)
}
