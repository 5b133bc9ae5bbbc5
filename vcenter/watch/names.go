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

const maxNodeName = 253

// namesLinger is the delay of stop, so that a Node that registers in a loop causes no repeated
// reads of all names.
const namesLinger = 10 * time.Minute

// A nameLookup finds the VMs of Nodes without a UUID. It watches the names of all VMs while there is
// such a Node: repeated reads would cost a large vCenter megabytes each.
type nameLookup struct {
	views *views
	vms   map[string][]inventory.NameEntry

	// filters map each filter of names to whether it has reported. complete is set once all have
	// reported everything.
	filters  filters
	complete bool
	// byID is nil while names are not watched.
	byID       map[string]vmNames
	hasUpdates bool
	// idleSince is zero while there is a Node without a UUID.
	idleSince time.Time
}

// vmNames are in lower case.
type vmNames struct {
	name, hostName string
	filter         types.ManagedObjectReference
}

func (n *nameLookup) recordReport(filter types.ManagedObjectReference) bool {
	if _, ok := n.filters[filter]; !ok {
		return false
	}
	n.filters[filter] = true
	n.hasUpdates = true
	return true
}

func (n *nameLookup) apply(filter types.ManagedObjectReference, u *types.ObjectUpdate) {
	// start adds the root folder.
	if u.Obj.Type != "VirtualMachine" {
		return
	}
	id := u.Obj.Value
	names := n.byID[id]
	if u.Kind == types.ObjectUpdateKindLeave {
		// Another filter may have reported the VM since, as in Model.ApplyIndex.
		if names.filter == filter {
			delete(n.byID, id)
		}
		return
	}
	names.filter = filter
	for _, change := range u.ChangeSet {
		switch change.Name {
		case "name":
			name, _ := change.Val.(string)
			names.name = strings.ToLower(name)
			if len(name) > maxNodeName {
				names.name = ""
			}
		case model.GuestHostName:
			names.hostName = strings.ToLower(model.HostNameOf(change.Val))
		}
	}
	n.byID[id] = names
}

func (n *nameLookup) err() error {
	if len(n.byID) > faults.MaxVMs {
		return faults.ManyObjects
	}
	return nil
}

func (n *nameLookup) checkComplete() {
	n.complete = n.complete || n.byID != nil && !slices.Contains(slices.Collect(maps.Values(n.filters)), false)
}

// find returns the VMs by the name of their Node, sorted by ID. The result is nil until names are
// complete.
func (n *nameLookup) find(nodes map[string]string, m *model.Model) map[string][]inventory.NameEntry {
	if !n.complete || len(nodes) == 0 {
		return nil
	}
	found := make(map[string][]inventory.NameEntry, len(nodes))
	for _, node := range nodes {
		found[node] = nil
	}
	for id, names := range n.byID {
		if !m.Has(id) {
			continue
		}
		if node, ok := nodes[names.hostName]; ok {
			found[node] = append(found[node], inventory.NameEntry{Entry: m.Entry(id), ByHostName: true})
		}
		if node, ok := nodes[names.name]; ok && names.name != names.hostName {
			found[node] = append(found[node], inventory.NameEntry{Entry: m.Entry(id)})
		}
	}
	for _, entries := range found {
		slices.SortFunc(entries, func(a, b inventory.NameEntry) int { return strings.Compare(a.ID, b.ID) })
	}
	return found
}

func (n *nameLookup) update(ctx context.Context, nodes map[string]string, m *model.Model) (changed bool, err error) {
	n.hasUpdates = false
	switch {
	case len(nodes) > 0:
		n.idleSince = time.Time{}
		if n.byID == nil {
			if err := n.start(ctx); err != nil {
				return false, err
			}
		}
	case n.byID == nil:
		return false, nil
	case n.idleSince.IsZero():
		n.idleSince = time.Now()
	case time.Since(n.idleSince) >= namesLinger:
		if err := n.stop(ctx); err != nil {
			return false, err
		}
	}
	found := n.find(nodes, m)
	changed = !reflect.DeepEqual(found, n.vms)
	n.vms = found
	return changed, nil
}

// start watches the root folder's name, too, so that every filter reports something.
func (n *nameLookup) start(ctx context.Context) error {
	*n = nameLookup{views: n.views, vms: n.vms, filters: filters{}, byID: map[string]vmNames{}}
	klog.FromContext(ctx).Info("Watching the names of VMs, because a Node reports no system UUID")
	for _, view := range n.views.containers {
		spec := model.ViewSpec(view, "VirtualMachine", "name", model.GuestHostName)
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: "Folder", PathSet: []string{"name"}})
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: n.views.session.Client().ServiceContent.RootFolder})
		if err := n.views.filter(ctx, n.filters, spec); err != nil {
			return fmt.Errorf("looking for VMs by name: %w", err)
		}
	}
	for f := range n.filters {
		n.filters[f] = false
	}
	n.checkComplete()
	return nil
}

// stop keeps the filters for another namesLinger if the account may not destroy them.
func (n *nameLookup) stop(ctx context.Context) error {
	for f := range n.filters {
		_, err := methods.DestroyPropertyFilter(ctx, n.views.session.Client(), &types.DestroyPropertyFilter{This: f})
		switch {
		case faults.Denied(err):
			n.idleSince = time.Now()
			return nil
		case err != nil && !faults.Gone(err):
			return fmt.Errorf("ending the watch of VM names: %w", err)
		}
	}
	*n = nameLookup{views: n.views, vms: n.vms}
	return nil
}
