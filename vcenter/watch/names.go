package watch

import (
	"context"
	"fmt"
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

// maxNodeName is the length of the longest name of a Node, in bytes.
const maxNodeName = 253

// namesLinger is how long the names of machines are watched after the last Node without a
// UUID is gone. Whoever registers one again and again does not have them read each time.
const namesLinger = 10 * time.Minute

// A nameLookup finds the machines of Nodes without a UUID by name. It has the names of all
// machines in the views, for as long as there is such a Node. To read all of them once in a
// while would cost a large vCenter some megabytes each time, for as long as such a Node
// waits.
type nameLookup struct {
	views *views
	// machines are those that have the name of a Node, as last looked up.
	machines map[string][]inventory.NameEntry

	// filters report names. Each maps to whether it has reported anything, and whole is
	// whether what they began with is all there.
	filters filters
	whole   bool
	// byID has the names of each machine. It is nil while names are not watched.
	byID map[string]machineNames
	// news says that something has come that was not looked at.
	news bool
	// idle is since when there is no Node without a UUID, zero while there is one.
	idle time.Time
}

// machineNames are a machine's name and its guest host name in lower case, as a filter
// reported them.
type machineNames struct {
	own, host string
	filter    types.ManagedObjectReference
}

// reports reports whether a filter is one of names, and notes that it has reported
// something.
func (n *nameLookup) reports(filter types.ManagedObjectReference) bool {
	if _, ok := n.filters[filter]; !ok {
		return false
	}
	n.filters[filter] = true
	n.news = true
	return true
}

// apply applies a change of a machine's names.
func (n *nameLookup) apply(filter types.ManagedObjectReference, u *types.ObjectUpdate) {
	if u.Obj.Type != "VirtualMachine" {
		return // the root folder, which says that the filter has reported everything
	}
	id := u.Obj.Value
	now := n.byID[id]
	if u.Kind == types.ObjectUpdateKindLeave {
		// Another filter may have reported the machine before, as in Model.ApplyIndex.
		if now.filter == filter {
			delete(n.byID, id)
		}
		return
	}
	now.filter = filter
	for _, change := range u.ChangeSet {
		switch change.Name {
		case "name":
			name, _ := change.Val.(string)
			now.own = strings.ToLower(name)
			if len(name) > maxNodeName {
				now.own = "" // no Node has it
			}
		case model.GuestHostName:
			now.host = strings.ToLower(model.HostNameOf(change.Val))
		}
	}
	n.byID[id] = now
}

// err returns faults.ManyObjects if there are names of more VMs than a vCenter has.
func (n *nameLookup) err() error {
	if len(n.byID) > faults.MaxVMs {
		return faults.ManyObjects
	}
	return nil
}

// received notes that a change is there with all its pages.
func (n *nameLookup) received() {
	n.whole = n.whole || n.byID != nil && !slices.Contains(slices.Collect(maps.Values(n.filters)), false)
}

// find returns the machines of an index that have the name of a Node, by guest host name
// or by their own name, with an entry for each Node, by the Nodes' lower-case names. One whose
// two names are those of two Nodes is found for both. It is nil as long as that is not known.
func (n *nameLookup) find(nodes map[string]string, m *model.Model) map[string][]inventory.NameEntry {
	if !n.whole || len(nodes) == 0 {
		return nil
	}
	all := make(map[string][]inventory.NameEntry, len(nodes))
	for _, node := range nodes {
		all[node] = nil // also where no machine has it
	}
	for id, names := range n.byID {
		if !m.Has(id) {
			continue
		}
		if node, ok := nodes[names.host]; ok {
			all[node] = append(all[node], inventory.NameEntry{Entry: m.Entry(id), ByHostName: true})
		}
		if node, ok := nodes[names.own]; ok && names.own != names.host {
			all[node] = append(all[node], inventory.NameEntry{Entry: m.Entry(id)})
		}
	}
	for _, entries := range all {
		slices.SortFunc(entries, func(a, b inventory.NameEntry) int { return strings.Compare(a.ID, b.ID) })
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
	found := n.find(nodes, m)
	changed = !reflect.DeepEqual(found, n.machines)
	n.machines = found
	return changed, nil
}

// begin begins to watch the names of all machines. The root folder's name has each filter
// report something though there is no machine.
func (n *nameLookup) begin(ctx context.Context) error {
	*n = nameLookup{views: n.views, machines: n.machines, filters: filters{}, byID: map[string]machineNames{}}
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
	for f := range n.filters {
		_, err := methods.DestroyPropertyFilter(ctx, n.views.session.Client(), &types.DestroyPropertyFilter{This: f})
		switch {
		case faults.Denied(err):
			n.idle = time.Now()
			return nil
		case err != nil && !faults.Gone(err):
			return fmt.Errorf("ending the watch of machines' names: %w", err)
		}
	}
	*n = nameLookup{views: n.views, machines: n.machines}
	return nil
}
