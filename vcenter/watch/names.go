package watch

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
	"vzones/vcenter/watch/model"
)

// namesLinger is how long the names of machines are watched after the last Node without a
// UUID is gone. Whoever registers one again and again does not have them read each time.
const namesLinger = 10 * time.Minute

// A nameLookup finds the machines of Nodes without a UUID by name. It has the names of all
// machines in the views, for as long as there is such a Node. To read all of them once in a
// while would cost a large vCenter some megabytes each time, for as long as such a Node
// waits. Of each name a hash is kept.
type nameLookup struct {
	views *views
	// machines are those that have the name of a Node, as last looked up.
	machines map[string][]inventory.NameEntry

	seed maphash.Seed
	// filters report names. Each maps to whether it has reported anything, and whole is
	// whether what they began with is all there.
	filters filters
	whole   bool
	byID    map[string]hashes
	// nodes are the Nodes' names, wanted these by their hash, and hits the machines that
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
// a filter reported them.
type hashes struct {
	own, host uint64
	filter    types.ManagedObjectReference
}

// hash returns that of a name in any case, zero for "".
func (n *nameLookup) hash(name string) uint64 {
	if name == "" {
		return 0
	}
	return max(maphash.String(n.seed, strings.ToLower(name)), 1)
}

// follow makes these, by their lower-case name, the Nodes that are looked for.
func (n *nameLookup) follow(nodes map[string]string) {
	if maps.Equal(n.nodes, nodes) {
		return
	}
	n.nodes, n.wanted, n.hits = nodes, make(map[uint64]string, len(nodes)), map[string]bool{}
	for name, node := range nodes {
		n.wanted[n.hash(name)] = node
	}
	for id := range n.byID {
		n.match(id)
	}
}

// match notes whether a machine has the name of a Node.
func (n *nameLookup) match(id string) {
	h := n.byID[id]
	_, host := n.wanted[h.host]
	_, own := n.wanted[h.own]
	if host || own {
		n.hits[id] = true
	} else {
		delete(n.hits, id)
	}
}

// reports reports whether a filter is one of names, and notes that it has reported
// something.
func (n *nameLookup) reports(filter types.ManagedObjectReference) bool {
	if _, ok := n.filters[filter]; !ok {
		return false
	}
	n.filters[filter], n.news = true, true
	return true
}

// apply applies a change of a machine's names.
func (n *nameLookup) apply(filter types.ManagedObjectReference, u *types.ObjectUpdate) {
	if u.Obj.Type != "VirtualMachine" {
		return // the root folder, which says that the filter has reported everything
	}
	id := u.Obj.Value
	if u.Kind == types.ObjectUpdateKindLeave {
		if n.byID[id].filter == filter { // as in Model.ApplyIndex
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
		case model.GuestHostName:
			h.host = n.hash(name)
		}
	}
	n.byID[id] = h
	n.match(id)
}

// received notes that a change is there with all its pages.
func (n *nameLookup) received() {
	n.whole = n.whole || n.byID != nil && !slices.Contains(slices.Collect(maps.Values(n.filters)), false)
}

// found returns the machines of an index that have the name of a Node, by guest host name
// or by their own name, with an entry for each Node. One whose two names are those of two
// Nodes is found for both. It is nil as long as that is not known.
func (n *nameLookup) found(m *model.Model) map[string][]inventory.NameEntry {
	if !n.whole || len(n.nodes) == 0 {
		return nil
	}
	all := make(map[string][]inventory.NameEntry, len(n.nodes))
	for _, node := range n.nodes {
		all[node] = nil // also where no machine has it
	}
	for _, id := range slices.Sorted(maps.Keys(n.hits)) {
		if !m.Has(id) {
			continue
		}
		h := n.byID[id]
		if node, ok := n.wanted[h.host]; ok {
			all[node] = append(all[node], inventory.NameEntry{Entry: m.Entry(id), ByHostName: true})
		}
		if node, ok := n.wanted[h.own]; ok && h.own != h.host {
			all[node] = append(all[node], inventory.NameEntry{Entry: m.Entry(id)})
		}
	}
	return all
}

// update looks for the machines of the Nodes without a UUID, by their lower-case name, and
// reports whether what it found has changed.
func (n *nameLookup) update(ctx context.Context, nodes map[string]string, m *model.Model) (changed bool, err error) {
	n.news = false
	switch {
	case len(nodes) > 0:
		n.idle = time.Time{}
		if n.byID == nil {
			if err := n.begin(ctx); err != nil {
				return false, err
			}
		}
	case n.byID == nil:
		return false, nil
	case n.idle.IsZero():
		n.idle = time.Now()
	case time.Since(n.idle) >= namesLinger:
		if err := n.end(ctx); err != nil {
			return false, err
		}
	}
	n.follow(nodes)
	found := n.found(m)
	changed = !reflect.DeepEqual(found, n.machines)
	n.machines = found
	return changed, nil
}

// begin begins to watch the names of all machines. The root folder's name has each filter
// report something though there is no machine.
func (n *nameLookup) begin(ctx context.Context) error {
	*n = nameLookup{views: n.views, machines: n.machines, seed: maphash.MakeSeed(), filters: filters{}, byID: map[string]hashes{}}
	klog.FromContext(ctx).Info("Watching the names of machines, since a Node reports no system UUID")
	for _, view := range n.views.containers {
		spec := model.ViewSpec(view, "VirtualMachine", "name", model.GuestHostName)
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: "Folder", PathSet: []string{"name"}})
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: n.views.session.Client().ServiceContent.RootFolder})
		if err := n.views.filter(ctx, n.filters, spec); err != nil {
			return fmt.Errorf("looking for machines by name: %w", err)
		}
	}
	for f := range n.filters {
		n.filters[f] = false
	}
	n.received() // there may be no view
	return nil
}

// end ends that. Where the account may not end it, names are watched on.
func (n *nameLookup) end(ctx context.Context) error {
	ended := false
	for f := range n.filters {
		_, err := methods.DestroyPropertyFilter(ctx, n.views.session.Client(), &types.DestroyPropertyFilter{This: f})
		switch {
		case faults.Denied(err) && !ended:
			n.idle = time.Now()
			return nil
		case err != nil && !faults.Gone(err):
			return fmt.Errorf("ending the watch of machines' names: %w", err)
		}
		ended = true
	}
	*n = nameLookup{views: n.views, machines: n.machines}
	return nil
}
