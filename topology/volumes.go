package topology

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"vzones/internal/quote"
)

// Volumes returns, for each pair of region and zone, what keeps the vSphere CSI driver
// from placing volumes there although it gives the Nodes their topology. For volumes it
// goes the other way, from the names of both tags down to all objects that have them.
// The placements of a whole fleet show what comes from tags above its Nodes. Equal ones, in whatever order, give
// equal conflicts.
//
// It follows DiscoverTagEntities, GetHostsForSegment and getVCForTopologySegments of the
// driver's pkg/csi/service/common/topology.go.
func (p Policy) Volumes(placements iter.Seq[Placement]) map[Pair][]Conflict {
	v := volumes{uses: map[tagUse]map[string]bool{}, names: map[string]map[string]bool{}, domains: map[tagPair]*domain{}}
	for placed := range placements {
		v.place(placed)
	}
	conflicts := map[Pair][]Conflict{}
	for _, pair := range slices.SortedFunc(maps.Keys(v.domains), tagPair.compare) {
		d := v.domains[pair]
		var both []Conflict
		if len(p.VolumeCategories()) > 1 { // of one category it is meant so
			both = v.regionAndZone(d)
		}
		for _, found := range slices.Concat(v.namesInOtherVCenters(pair.Pair, d), both) {
			if !slices.ContainsFunc(conflicts[pair.Pair], func(c Conflict) bool { return c.Text() == found.Text() }) {
				conflicts[pair.Pair] = append(conflicts[pair.Pair], found)
			}
		}
	}
	return conflicts
}

// VolumeCategories returns the tag categories of region and zone, each once.
func (p Policy) VolumeCategories() []string {
	var names []string
	for _, label := range [...]string{LabelRegion, LabelZone} {
		if name := p.categoryOf(label); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// categoryOf returns the category of the tags that the CSI driver has for a label, empty
// if it has none.
func (p Policy) categoryOf(label string) string {
	for _, r := range p.Rules {
		if r.Label == label {
			return r.Category
		}
	}
	return ""
}

// labelsOf returns which of region and zone have a category.
func (p Policy) labelsOf(category string) []string {
	var labels []string
	for _, label := range [...]string{LabelRegion, LabelZone} {
		if p.categoryOf(label) == category {
			labels = append(labels, label)
		}
	}
	return labels
}

type tagUse struct{ label, name string }

// A tagPair is a pair with the names of the tags that it is made of: where values are
// composed, several may make the same pair.
type tagPair struct {
	Pair
	region, zone string
}

func (t tagPair) compare(with tagPair) int {
	return cmp.Or(cmp.Compare(t.Region, with.Region), cmp.Compare(t.Zone, with.Zone), cmp.Compare(t.region, with.region), cmp.Compare(t.zone, with.zone))
}

// A domain is where a pair is that is made of these tags.
type domain struct {
	// tags are the names of the tags that decided, by label.
	tags map[string]string
	// by are the objects that decided the zone, one for each vCenter.
	by map[string]*Object
}

type volumes struct {
	// uses are the vCenters in which a tag is used as a label's value, and names the
	// names of the tags in each vCenter, whatever they are used as.
	uses    map[tagUse]map[string]bool
	names   map[string]map[string]bool
	domains map[tagPair]*domain
}

func (v *volumes) use(label, name, vcenter string) {
	set := func(m map[string]map[string]bool, key, value string) {
		if m[key] == nil {
			m[key] = map[string]bool{}
		}
		m[key][value] = true
	}
	set(v.names, vcenter, name)
	if v.uses[tagUse{label, name}] == nil {
		v.uses[tagUse{label, name}] = map[string]bool{}
	}
	v.uses[tagUse{label, name}][vcenter] = true
}

// place adds a placement. A pair that does not come from tags does not concern the driver.
func (v *volumes) place(placed Placement) {
	pair, ok := placed.Pair()
	if !ok {
		return
	}
	tags := map[string]string{}
	var by *Object
	for _, label := range [...]string{LabelRegion, LabelZone} {
		d, decided := placed.decision(label)
		if !decided {
			continue
		}
		name, isTag := d.tag()
		if !isTag {
			return
		}
		v.use(label, name, d.By.Ref.VCenter)
		tags[label], by = name, d.By
	}
	key := tagPair{pair, tags[LabelRegion], tags[LabelZone]}
	if v.domains[key] == nil {
		v.domains[key] = &domain{tags: tags, by: map[string]*Object{}}
	}
	in := v.domains[key].by
	if known := in[by.Ref.VCenter]; known == nil || CompareObjects(by, known) < 0 {
		in[by.Ref.VCenter] = by
	}
}

// tag returns the name of the tag that decided.
func (d Decision) tag() (string, bool) {
	if d.Category == "" || d.By == nil {
		return "", false
	}
	h := d.By.tagged(d.Category)
	return h.name, h.by != nil && !h.several
}

// namesInOtherVCenters returns the conflict of a pair of one vCenter both of whose tags
// another one has too. The pair
// itself, in several vCenters, is what Spanning finds.
func (v *volumes) namesInOtherVCenters(pair Pair, d *domain) []Conflict {
	if len(d.by) != 1 {
		return nil
	}
	var others []string
	for vcenter, names := range v.names {
		if v.has(pair, vcenter) {
			continue
		}
		all := true
		for _, name := range d.tags {
			all = all && names[name]
		}
		if all {
			others = append(others, vcenter)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	by := d.objects()
	return []Conflict{{Kind: ConflictNames, Labels: pair.labels(), Objects: by, why: func() string {
		where := "vCenter"
		if len(others) > 1 {
			where = "vCenters"
		}
		return fmt.Sprintf("%s is in vCenter %q (%s), and %s %s has tags named %s too, though no Node there has this region and zone. "+
			"The CSI driver looks for each name alone, finds them in several vCenters, and places no volume. "+
			"Give one of the tags another name in one of the vCenters, or detach it there.",
			pair.described(), by[0].Ref.VCenter, by[0], where, quoted(others), d.list())
	}}}
}

// has reports whether a vCenter has a pair, of whatever tags.
func (v *volumes) has(pair Pair, vcenter string) bool {
	for other, d := range v.domains {
		if other.Pair == pair && d.by[vcenter] != nil {
			return true
		}
	}
	return false
}

// regionAndZone returns the conflicts of names that are a region's and a zone's.
func (v *volumes) regionAndZone(d *domain) []Conflict {
	var conflicts []Conflict
	for _, name := range slices.Compact(slices.Sorted(maps.Values(d.tags))) {
		regions, zones := v.uses[tagUse{LabelRegion, name}], v.uses[tagUse{LabelZone, name}]
		if len(regions) == 0 || len(zones) == 0 {
			continue
		}
		conflicts = append(conflicts, Conflict{
			Kind: ConflictRegionAndZone, Labels: []string{LabelRegion, LabelZone}, Objects: d.objects(),
			why: func() string {
				return fmt.Sprintf("Tag name %s is a region in vCenter %s and a zone in vCenter %s. The CSI driver knows tags by their names alone, "+
					"so that the objects of one hide those of the other: it may place volumes on the wrong hosts, or none. Rename one of the two tags.",
					quote.Value(name), quoted(slices.Sorted(maps.Keys(regions))), quoted(slices.Sorted(maps.Keys(zones))))
			},
		})
	}
	return conflicts
}

// objects returns what decided, in order.
func (d *domain) objects() []*Object { return slices.SortedFunc(maps.Values(d.by), CompareObjects) }

// list names the tags, the region's first.
func (d *domain) list() string {
	names := []string{d.tags[LabelZone]}
	if region, ok := d.tags[LabelRegion]; ok && region != names[0] {
		names = []string{region, names[0]}
	}
	return joined(names, " and ")
}
