package vcenter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// A seeker has a watch find the machines of Nodes by searches, where the vCenter is
// configured with index: followed and so no view has all machines. The machines that
// were found are put on a list view, whose filter feeds the model's index as the
// filters over container views do otherwise. It belongs to run; search is told by
// views what there is to look for.
type seeker struct {
	// list is the list view of the index, listed what is on it.
	list   types.ManagedObjectReference
	filter string
	listed map[string]bool
	// untaken are machines that the list view did not take: they are gone, or the
	// account may not see them. They are tried again after the next search.
	untaken map[string]bool
	// retold is when those of them were last tried again that only Nodes tell of: not
	// after each search, since what a Node says may never come true.
	retold time.Time
	// overlooked are machines that are to be read, since the filter does not tell of
	// them.
	overlooked []string
	// refs are the machines that the last search for something found. A search was
	// done in this watch if it is a key.
	refs map[sought][]string
	// since is when everything followed had been searched for once.
	since time.Time

	// views has what search is to go by, results what it has found: search receives
	// from the first, which has room for one, and sends to the second. Nobody closes
	// them.
	views   chan view
	results chan map[sought][]string
}

// view is what run knows: what is followed, and which machines of that are in the
// index and run. One that is off counts as not found: the one that runs may be in
// another place by now.
type view struct {
	followed *followed
	running  map[sought]bool
}

// newSeeker restricts what the model remembers to the machines that are followed.
func newSeeker(m *model, f *followed) *seeker {
	if m.before != nil {
		kept := &model{index: map[string]indexed{}, unknown: map[string]inventory.FirstSeen{}}
		for id, e := range m.before.index {
			if f.uuids[e.uuid] {
				kept.index[id] = e
			}
			if t, ok := m.before.unknown[id]; ok && e.uuid.IsZero() {
				kept.unknown[id] = t
			}
		}
		m.before = kept
	}
	return &seeker{
		listed: map[string]bool{}, untaken: map[string]bool{}, refs: map[sought][]string{},
		views: make(chan view, 1), results: make(chan map[sought][]string),
	}
}

// indexed are the roots whose machines are all in the index.
func (w *watch) indexed() []types.ManagedObjectReference {
	if w.seek != nil {
		return nil
	}
	return w.roots
}

// beginSeeking makes the list view of the index, and its filter. Nothing is on it
// yet, so a filter over the root folder's name has the first poll return at once.
func (w *watch) beginSeeking(ctx context.Context) error {
	res, err := methods.CreateListView(ctx, w.s.vim, &types.CreateListView{This: *w.s.vim.ServiceContent.ViewManager})
	if err != nil {
		return fmt.Errorf("making a list view: %w", err)
	}
	w.seek.list = res.Returnval
	w.s.Track(w.seek.list, session.DestroyView)
	spec := viewSpec(w.seek.list, "VirtualMachine", append([]string{summaryUUID}, indexProperties...)...)
	spec.ObjectSet[0].SelectSet = []types.BaseSelectionSpec{&types.TraversalSpec{Type: "ListView", Path: "view"}}
	if err := w.filter(ctx, w.index, spec); err != nil {
		return err
	}
	for f := range w.index {
		w.seek.filter = f.Value
	}
	return w.filter(ctx, filters{}, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "Folder", PathSet: []string{"name"}}},
		ObjectSet: []types.ObjectSpec{{Obj: w.s.vim.ServiceContent.RootFolder}},
	})
}

// found is where results of searches come from, nil if there are none.
func (w *watch) found() <-chan map[sought][]string {
	if w.seek == nil {
		return nil
	}
	return w.seek.results
}

// sees reports whether a change of a machine in the index is to be taken over: one
// that was taken off the list may still be told of, and of one that is not in the
// index a change does not tell all.
func (w *watch) sees(u *types.ObjectUpdate) bool {
	if w.seek == nil {
		return true
	}
	id := u.Obj.Value
	_, here := w.model.index[id]
	if !w.seek.listed[id] || !here && u.Kind == types.ObjectUpdateKindModify {
		return false
	}
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(w.seek.listed, id)
		w.seek.untaken[id] = true // until the next search says otherwise
	}
	return true
}

// take takes over the results of searches.
func (w *watch) take(found map[sought][]string) {
	for key, ids := range found {
		w.seek.refs[key] = ids
		w.overlooks(ids)
		for _, id := range ids {
			delete(w.seek.untaken, id)
		}
	}
	if time.Since(w.seek.retold) >= refusedFor {
		w.seek.retold = time.Now()
		for id := range w.c.followed.Load().told[w.c.name] {
			delete(w.seek.untaken, id)
		}
	}
	if before := w.model.before; before != nil {
		for id, e := range before.index {
			if _, done := found[sought{uuid: e.uuid}]; done {
				delete(w.seek.untaken, id)
			}
		}
	}
	w.changed = true
}

// choose has the index follow what was found, and tells search how far it is.
func (w *watch) choose(ctx context.Context, f *followed) error {
	k := w.seek
	if k == nil {
		return nil
	}
	for key := range k.refs {
		if key.name != "" && f.names[key.name] == "" || key.name == "" && !f.uuids[key.uuid] {
			delete(k.refs, key)
		}
	}
	if err := w.follows(ctx, f); err != nil {
		return err
	}
	if err := w.readOverlooked(ctx); err != nil {
		return err
	}
	running := map[sought]bool{}
	coming := w.coming()
	for key := range k.refs {
		running[key] = w.settled(key, coming) && slices.ContainsFunc(k.refs[key], func(id string) bool {
			e := w.model.index[id]
			return !e.template && !e.secondary && e.power == inventory.PowerOn
		})
	}
	w.names = w.namesOf(f)
	w.notePlaces(f)
	select {
	case <-k.views:
	default:
	}
	k.views <- view{f, running}
	return nil
}

// settled reports whether everything that the last search for something found is in
// the index. A machine that has left it has to be searched for again.
func (w *watch) settled(key sought, coming map[inventory.UUID]bool) bool {
	if key.name == "" && coming[key.uuid] {
		return false
	}
	return !slices.ContainsFunc(w.seek.refs[key], func(id string) bool { _, here := w.model.index[id]; return !here })
}

// searched says for snapshots which searches are done, nil where all machines are in
// the index.
func (w *watch) searched() *inventory.Searched {
	if w.seek == nil {
		return nil
	}
	done := &inventory.Searched{UUIDs: map[inventory.UUID]bool{}}
	coming := w.coming()
	for key := range w.seek.refs {
		if key.name == "" && w.settled(key, coming) {
			done.UUIDs[key.uuid] = true
		}
	}
	return done
}

// sought reports whether the first snapshot may be published: everything followed was
// searched for, and what was found is in the index, which is waited for for a while.
func (w *watch) sought(f *followed) bool {
	if !w.seek.everSearched(f) {
		return false
	}
	if w.seek.since.IsZero() {
		w.seek.since = time.Now()
	}
	coming := w.coming()
	for key := range w.seek.refs {
		if !w.settled(key, coming) {
			return time.Since(w.seek.since) > primeTime
		}
	}
	return true
}

// everSearched reports whether everything followed was searched for in this watch.
func (k *seeker) everSearched(f *followed) bool {
	for u := range f.uuids {
		if _, done := k.refs[sought{uuid: u}]; !done {
			return false
		}
	}
	for name := range f.names {
		if _, done := k.refs[sought{name: name}]; !done {
			return false
		}
	}
	return true
}

// elsewhere returns the machines in the index that are in none of the configured
// datacenters, in order, and keeps them apart. Only their details tell where they
// are. One whose datacenter cannot be read is not known to be inside.
func (w *watch) elsewhere() []string {
	apart := map[string]bool{}
	for id, e := range w.model.index {
		if e.readable && !e.template && !e.secondary && w.model.has(id) && !w.inside(id) {
			apart[id] = true
		}
	}
	if !maps.Equal(apart, w.model.apart) {
		w.model.apart, w.model.byUUID, w.changed = apart, nil, true
	}
	return slices.Sorted(maps.Keys(apart))
}

// inside reports whether a machine is in one of the configured datacenters.
func (w *watch) inside(id string) bool {
	for _, start := range w.model.tree.starts(machineRef(id)) {
		refs, _ := w.model.tree.upTo(start.ref)
		for _, ref := range refs {
			if ref.Type == "Datacenter" {
				return slices.Contains(w.roots, ref)
			}
		}
	}
	return false
}

// notePlaces remembers where followed machines are, for when they are gone.
func (w *watch) notePlaces(f *followed) {
	now := map[inventory.UUID][]string{}
	for id, e := range w.model.index {
		if f.uuids[e.uuid] && !e.template && !e.secondary {
			now[e.uuid] = append(now[e.uuid], id)
		}
	}
	w.c.places.note(w.model.instance, now, f.uuids)
}
