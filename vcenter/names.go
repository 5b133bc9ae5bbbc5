package vcenter

import (
	"context"
	"maps"
	"reflect"
	"strings"

	"vzones/vcenter/inventory"
)

// lookUpNames looks for the machines of Nodes without a UUID, when those have
// changed and once in a while.
func (w *watch) lookUpNames(ctx context.Context, f *followed) error {
	if w.named == f || w.seek != nil {
		return nil
	}
	same := w.named != nil && maps.Equal(w.named.names, f.names)
	w.named = f
	if same || len(f.names) == 0 {
		if len(f.names) == 0 {
			w.names = nil
		}
		return nil
	}
	names, err := w.s.readNames(ctx, w.views, f.names)
	if err != nil {
		return err
	}
	w.changed = w.changed || !reflect.DeepEqual(names, w.names)
	w.names = names
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
