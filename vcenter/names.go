package vcenter

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// namesLinger is how long the names of machines are watched after the last Node without a
// UUID is gone. Whoever registers one again and again does not have them read each time.
const namesLinger = 10 * time.Minute

// A nameWatch has the names of all machines in the views, for as long as there is
// a Node without a UUID. To read all of them once in a while would cost a large vCenter
// some megabytes each time, for as long as such a Node waits. Of each name a hash is kept.
type nameWatch struct {
	seed maphash.Seed
	// filters tell of names. Each maps to whether it has told of anything, and whole is
	// whether what they began with is all there.
	filters filters
	whole   bool
	byID    map[string]hashes
	// wanted are Nodes' names by their hash, those of nodes, and hits the machines that
	// have one.
	nodes  map[string]string
	wanted map[uint64]string
	hits   map[string]bool
	// news says that something has come that was not looked at.
	news bool
	// idle is since when there is no Node without a UUID, zero while there is one.
	idle time.Time
}

// hashes are those of a machine's name and its guest host name, zero if it has none, as
// a filter told them.
type hashes struct {
	own, host uint64
	filter    types.ManagedObjectReference
}

// hash returns that of a name in any case, zero for "".
func (n *nameWatch) hash(name string) uint64 {
	if name == "" {
		return 0
	}
	return max(maphash.String(n.seed, strings.ToLower(name)), 1)
}

// follow makes these, by their lower-case name, the Nodes that are looked for.
func (n *nameWatch) follow(nodes map[string]string) {
	if maps.Equal(n.nodes, nodes) {
		return
	}
	n.nodes, n.wanted, n.hits = nodes, make(map[uint64]string, len(nodes)), map[string]bool{}
	for name, node := range nodes {
		n.wanted[n.hash(name)] = node
	}
	for id := range n.byID {
		n.look(id)
	}
}

// look notes whether a machine has the name of a Node.
func (n *nameWatch) look(id string) {
	h := n.byID[id]
	_, host := n.wanted[h.host]
	_, own := n.wanted[h.own]
	if host || own {
		n.hits[id] = true
	} else {
		delete(n.hits, id)
	}
}

// apply takes over a change of a machine's names.
func (n *nameWatch) apply(filter types.ManagedObjectReference, u *types.ObjectUpdate) {
	if u.Obj.Type != "VirtualMachine" {
		return // the root folder, which says that the filter has told of everything
	}
	id := u.Obj.Value
	if u.Kind == types.ObjectUpdateKindLeave {
		if n.byID[id].filter == filter { // as in applyIndex
			delete(n.byID, id)
			delete(n.hits, id)
		}
		return
	}
	h := n.byID[id]
	h.filter = filter
	for _, change := range u.ChangeSet {
		name, _ := change.Val.(string)
		switch change.Name {
		case "name":
			h.own = n.hash(name)
		case guestHostName:
			h.host = n.hash(name)
		}
	}
	n.byID[id] = h
	n.look(id)
}

// received notes that a change is there with all its pages.
func (n *nameWatch) received() {
	n.whole = n.whole || n.byID != nil && !slices.Contains(slices.Collect(maps.Values(n.filters)), false)
}

// found returns the machines of an index that have the name of a Node, by guest host name
// or by their own name, with an entry for each Node. One whose two names are those of two
// Nodes is found for both. It is nil as long as that is not known.
func (n *nameWatch) found(m *model) map[string][]inventory.NameEntry {
	if !n.whole || len(n.nodes) == 0 {
		return nil
	}
	all := make(map[string][]inventory.NameEntry, len(n.nodes))
	for _, node := range n.nodes {
		all[node] = nil // also where no machine has it
	}
	for _, id := range slices.Sorted(maps.Keys(n.hits)) {
		if _, here := m.index[id]; !here {
			continue
		}
		h := n.byID[id]
		if node, ok := n.wanted[h.host]; ok {
			all[node] = append(all[node], inventory.NameEntry{Entry: m.entry(id), ByHostName: true})
		}
		if node, ok := n.wanted[h.own]; ok && h.own != h.host {
			all[node] = append(all[node], inventory.NameEntry{Entry: m.entry(id)})
		}
	}
	return all
}

// newNames looks for the machines of Nodes without a UUID if names have changed: a guest
// may change its host name all the time, and mostly it is no Node's.
func (w *watch) newNames(ctx context.Context) error {
	if !w.allNames.news {
		return nil
	}
	return w.lookUpNames(ctx, w.c.followed.Load())
}

// lookUpNames looks for the machines of Nodes without a UUID.
func (w *watch) lookUpNames(ctx context.Context, f *followed) error {
	if w.seek != nil {
		return nil
	}
	n := &w.allNames
	n.news = false
	switch {
	case len(f.names) > 0:
		n.idle = time.Time{}
		if n.byID == nil {
			if err := w.watchNames(ctx); err != nil {
				return err
			}
		}
	case n.byID == nil:
		return nil
	case n.idle.IsZero():
		n.idle = time.Now()
	case time.Since(n.idle) >= namesLinger:
		if err := w.leaveNames(ctx); err != nil {
			return err
		}
	}
	n.follow(f.names)
	found := n.found(w.model)
	w.changed = w.changed || !reflect.DeepEqual(found, w.names)
	w.names = found
	return nil
}

// watchNames begins to watch the names of all machines. The root folder's name has each
// filter tell of something though there is no machine.
func (w *watch) watchNames(ctx context.Context) error {
	n := &w.allNames
	*n = nameWatch{seed: maphash.MakeSeed(), filters: filters{}, byID: map[string]hashes{}}
	klog.FromContext(ctx).Info("Watches the names of machines, since a Node reports no system UUID")
	for _, view := range w.views {
		spec := viewSpec(view, "VirtualMachine", "name", guestHostName)
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: "Folder", PathSet: []string{"name"}})
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: w.s.vim.ServiceContent.RootFolder})
		if err := w.filter(ctx, n.filters, spec); err != nil {
			return fmt.Errorf("looking for machines by name: %w", err)
		}
	}
	for f := range n.filters {
		n.filters[f] = false
	}
	n.received() // there may be no view
	return nil
}

// leaveNames ends that. Where the account may not end it, names are watched on.
func (w *watch) leaveNames(ctx context.Context) error {
	ended := false
	for f := range w.allNames.filters {
		_, err := methods.DestroyPropertyFilter(ctx, w.s.vim, &types.DestroyPropertyFilter{This: f})
		switch {
		case faults.Denied(err) && !ended:
			w.allNames.idle = time.Now()
			return nil
		case err != nil && !faults.Gone(err):
			return fmt.Errorf("ending the watch of machines' names: %w", err)
		}
		ended = true
	}
	w.allNames = nameWatch{}
	return nil
}

// namesOf returns the machines whose guest host name is that of a Node without a
// UUID, for the searches that are done. By their own names they cannot be found
// without an index of all.
func (w *watch) namesOf(f *followed) map[string][]inventory.NameEntry {
	names := map[string][]inventory.NameEntry{}
	for name, node := range f.names {
		key := sought{name: name}
		refs, done := w.seek.refs[key]
		if !done || !w.settled(key, nil) {
			continue
		}
		names[node] = nil
		for _, id := range refs {
			_, here := w.model.index[id]
			host, odd := w.model.tree.objects[machineRef(id)].hostName()
			if !here || w.model.apart[id] || odd || host != "" && !strings.EqualFold(host, name) {
				continue
			}
			names[node] = append(names[node], inventory.NameEntry{Entry: w.model.entry(id), ByHostName: true})
		}
	}
	return names
}
