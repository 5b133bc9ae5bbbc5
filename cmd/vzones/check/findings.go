package check

import (
	"slices"

	"vzones/cmd/vzones/finding"
)

// findings returns all that is wrong, in their order, each once.
func (f *facts) findings() []finding.Finding {
	found := append(f.warnings(), f.account.findings()...)
	nodes, places := f.unplaced(), f.hostPlaces()
	for i := range f.states {
		reached, read := f.reach(i)
		found = append(found, reached...)
		if !read {
			continue
		}
		found = append(found, f.about(i)...)
		found = append(found, f.tagging(i)...)
		found = append(found, f.datacenters(i)...)
		found = append(found, f.unreadable(i, nodes)...)
		found = append(found, f.unchecked(i)...)
		if s := &f.surveys[i]; s.Err == nil {
			found = append(found, f.privileges(i, places)...)
			found = append(found, f.unread(i)...)
			found = append(found, f.categories(s)...)
		}
	}
	found = append(found, f.absent()...)
	found = append(found, f.untagged(places)...)
	found = append(found, f.conflicts(places)...)
	found = append(found, nodes...)
	found = append(found, f.byName()...)
	found = append(found, f.machines()...)
	found = append(found, f.affinity(places)...)
	found = f.withoutDriver(found)
	slices.SortFunc(found, finding.Compare)
	return slices.CompactFunc(found, func(a, b finding.Finding) bool {
		return a.Kind == b.Kind && a.VCenter == b.VCenter && a.Object == b.Object && a.Text == b.Text
	})
}
