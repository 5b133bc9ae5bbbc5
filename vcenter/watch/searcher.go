package watch

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
	"vzones/vcenter/watch/search"
)

// A searcher finds the machines of Nodes by searches, where the vCenter is configured with
// index: followed and so no view has all machines. The machines that were found are put on a
// list view, whose filter feeds the model's index as the filters over container views do
// otherwise. It belongs to the goroutine of the model; the searches are done by searches.
type searcher struct {
	vcenter string
	model   *model.Model
	// list is the list view of the index, filter the one over it, listed what is on it.
	list   *listView
	filter string
	listed map[string]bool
	// untaken are machines that the list view did not take: they are gone, or the
	// account may not see them. They are tried again after the next search.
	untaken map[string]bool
	// retried is when those of them were last tried again that only Nodes name: not
	// after each search, since what a Node says may never come true.
	retried time.Time
	// missed are machines that are to be read, since the filter does not report them.
	missed []string
	// refs are the machines that the last search for something found. A search was
	// done in this watch if it is a key.
	refs map[search.Key][]string
	// since is when everything followed had been searched for once.
	since time.Time
	// postponed is when machines are put on the list that were not for lack of time.
	postponed <-chan time.Time
}

func newSearcher(vcenter string, m *model.Model, list *listView, followed map[inventory.UUID]bool) *searcher {
	m.KeepEarlier(followed)
	return &searcher{
		vcenter: vcenter, model: m, list: list,
		listed: map[string]bool{}, untaken: map[string]bool{}, refs: map[search.Key][]string{},
	}
}

// begin makes the list view of the index, and its filter. Nothing is on it yet, so a
// filter over the root folder's name has the first poll return at once.
func (k *searcher) begin(ctx context.Context, v *views) error {
	if err := k.list.create(ctx); err != nil {
		return err
	}
	spec := model.ViewSpec(k.list.ref, "VirtualMachine", append([]string{model.SummaryUUID}, model.IndexProperties...)...)
	spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ListView", Path: "view"}}
	if err := v.filter(ctx, v.index, spec); err != nil {
		return err
	}
	for f := range v.index {
		k.filter = f.Value
	}
	return v.filter(ctx, filters{}, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "Folder", PathSet: []string{"name"}}},
		ObjectSet: []types.ObjectSpec{{Obj: v.session.Client().ServiceContent.RootFolder}},
	})
}

// accepts reports whether a change of a machine in the index is to be applied: one
// that was taken off the list may still be reported, and of one that is not in the
// index a change does not have everything.
func (k *searcher) accepts(u *types.ObjectUpdate) bool {
	id := u.Obj.Value
	if !k.listed[id] || !k.model.Has(id) && u.Kind == types.ObjectUpdateKindModify {
		return false
	}
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(k.listed, id)
		k.untaken[id] = true // until the next search says otherwise
	}
	return true
}

// take applies the results of searches. Recorded are the machines that Nodes name.
func (k *searcher) take(found map[search.Key][]string, recorded map[string][]inventory.UUID) {
	for key, ids := range found {
		k.refs[key] = ids
		for _, id := range ids {
			if k.listed[id] && !k.model.Has(id) {
				k.missed = append(k.missed, id)
			}
			delete(k.untaken, id)
		}
	}
	if time.Since(k.retried) >= refusedFor {
		k.retried = time.Now()
		for id := range recorded {
			delete(k.untaken, id)
		}
	}
	for id, uuid := range k.model.Earlier() {
		if _, done := found[search.Key{UUID: uuid}]; done {
			delete(k.untaken, id)
		}
	}
}

// update has the index hold what was found for the Nodes of an interest, and reports
// whether that changed it.
func (k *searcher) update(ctx context.Context, i *Interest) (changed bool, err error) {
	for key := range k.refs {
		if key.Name != "" && i.names[key.Name] == "" || key.Name == "" && !i.uuids[key.UUID] {
			delete(k.refs, key)
		}
	}
	changed, err = k.setList(ctx, i)
	if err != nil {
		return false, err
	}
	read, err := k.readMissed(ctx)
	return changed || read, err
}

// readMissed reads machines into the index that a search has found, that were on the list
// before and that are not in the index, and reports whether there are any. The filter need
// not report a machine that was taken off the list and put on it again at once: it never left
// for the filter, or that it left is reported when it is back. One that cannot be read stays
// out of the index until the next search.
func (k *searcher) readMissed(ctx context.Context) (changed bool, err error) {
	ids := k.missed
	if k.missed = nil; len(ids) == 0 {
		return false, nil
	}
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: model.IndexProperties}}}
	for _, id := range ids {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: model.MachineRef(id)})
	}
	err = k.list.session.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: o.Obj}
		for _, p := range o.PropSet {
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
		}
		k.model.ApplyIndex(k.filter, &u)
		changed = true
	})
	if err != nil && !goneOrDenied(err) {
		return false, fmt.Errorf("reading %d machines: %w", len(ids), err)
	}
	return changed, nil
}

// input returns what searches depend on: which machines are in the index and run. One that is
// off counts as not found: the one that runs may be in another place by now.
func (k *searcher) input(i *Interest) searchInput {
	running := map[search.Key]bool{}
	pending := k.pending()
	for key := range k.refs {
		running[key] = k.indexed(key, pending) && slices.ContainsFunc(k.refs[key], k.model.Runs)
	}
	return searchInput{i, running}
}

// pending are the UUIDs of the machines that are on the list and that the filter has
// not reported yet, as the earlier watch knew them.
func (k *searcher) pending() map[inventory.UUID]bool {
	uuids := map[inventory.UUID]bool{}
	for id := range k.listed {
		if uuid, ok := k.model.EarlierUUID(id); ok && !k.model.Has(id) {
			uuids[uuid] = true
		}
	}
	return uuids
}

// indexed reports whether everything that the last search for something found is in
// the index. A machine that has left it has to be searched for again.
func (k *searcher) indexed(key search.Key, pending map[inventory.UUID]bool) bool {
	if key.Name == "" && pending[key.UUID] {
		return false
	}
	return !slices.ContainsFunc(k.refs[key], func(id string) bool { return !k.model.Has(id) })
}

// done returns for snapshots which searches are done.
func (k *searcher) done() *inventory.Searched {
	done := &inventory.Searched{UUIDs: map[inventory.UUID]bool{}}
	pending := k.pending()
	for key := range k.refs {
		if key.Name == "" && k.indexed(key, pending) {
			done.UUIDs[key.UUID] = true
		}
	}
	return done
}

// complete reports whether the first snapshot may be published: everything followed was
// searched for, and what was found is in the index, which is waited for for a while.
func (k *searcher) complete(i *Interest) bool {
	if !k.searchedFor(i) {
		return false
	}
	if k.since.IsZero() {
		k.since = time.Now()
	}
	pending := k.pending()
	for key := range k.refs {
		if !k.indexed(key, pending) {
			return time.Since(k.since) > syncTime
		}
	}
	return true
}

// searchedFor reports whether everything followed was searched for in this watch.
func (k *searcher) searchedFor(i *Interest) bool {
	for u := range i.uuids {
		if _, done := k.refs[search.Key{UUID: u}]; !done {
			return false
		}
	}
	for name := range i.names {
		if _, done := k.refs[search.Key{Name: name}]; !done {
			return false
		}
	}
	return true
}

// named returns the machines whose guest host name is that of a Node without a
// UUID, for the searches that are done. By their own names they cannot be found
// without an index of all.
func (k *searcher) named(i *Interest) map[string][]inventory.NameEntry {
	names := map[string][]inventory.NameEntry{}
	for name, node := range i.names {
		key := search.Key{Name: name}
		refs, done := k.refs[key]
		if !done || !k.indexed(key, nil) {
			continue
		}
		names[node] = nil
		for _, id := range refs {
			host, odd := k.model.HostName(id)
			if !k.model.Has(id) || k.model.IsOutside(id) || odd || host != "" && !strings.EqualFold(host, name) {
				continue
			}
			names[node] = append(names[node], inventory.NameEntry{Entry: k.model.Entry(id), ByHostName: true})
		}
	}
	return names
}
