package topology

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// CSIPolicy returns the policy by which the CSI driver places a machine: its walk over these tag
// categories on the compute path. Each label is the one that kubelet sets for the driver. All
// categories are required, since without one of them the driver has no answer.
func CSIPolicy(categories []string) Policy {
	p := Policy{Precedence: PrecedenceCSI, Paths: []PathKind{ComputePath}}
	for _, c := range categories {
		p.Rules = append(p.Rules, Rule{Label: CSIDomain + "/" + c, Category: c, Required: true})
	}
	return p
}

// NotCSI returns a conflict for each of region and zone that is composed, or comes from
// anything but a tag: the CSI driver reads plain tags only. It is the configuration's, equal for all Nodes,
// and holds for as long as the configuration is so.
func (p Policy) NotCSI() []Conflict {
	var conflicts []Conflict
	for _, r := range p.Rules {
		if r.Value != nil || r.Category == "" {
			conflicts = append(conflicts, Conflict{Kind: ConflictNotCSI, Labels: []string{r.Label}, why: r.notSeenByCSI})
		}
	}
	return conflicts
}

// notSeenByCSI says what the CSI driver makes of a rule that is no plain tag.
func (r Rule) notSeenByCSI() string {
	if r.Value == nil {
		source := fmt.Sprintf("the inventory (%s)", r.Inventory)
		if r.HostGroup != "" {
			source = fmt.Sprintf("DRS host groups (%s)", r.HostGroup)
		}
		return fmt.Sprintf("Label %s comes from %s, which the CSI driver does not see: it places volumes by tags only. "+
			"If it runs in the cluster with topology, take the label from the tag category that the driver uses.", r.Label, source)
	}
	composed := fmt.Sprintf("Label %s is composed as %q, which the CSI driver does not see", r.Label, r.Value.format(r.Label))
	if r.Category == "" {
		return composed + ": it reads tags alone. Without the driver this is of no matter; with it, take region and zone from tags."
	}
	return fmt.Sprintf("%s: StorageClasses and volumes go by the names of the tags of category %q, each of which has to be in one vCenter. "+
		"If the tags can be renamed, give them these values as names, and remove value from the configuration.", composed, r.Category)
}

// compare notes conflicts where the operator may expect, or the CSI driver find, another
// value.
func (r *resolution) compare(v choice, traces []trace) {
	if v.path.Kind != ComputePath {
		r.compareWithDriver()
	}
	if v.truncated || r.invisible(false) != "" {
		return // how far the tags that were not read reach is not known
	}
	for i := range r.policy.Rules {
		rule := &r.policy.Rules[i]
		t := &traces[i]
		chosen := t.chosen(r.policy.Precedence)
		if chosen.by == nil || chosen.several {
			continue
		}
		d := disagreement{
			subject: rule.subject(), category: rule.Category,
			// The driver gives up at an object whose tags the account may not read.
			nearest: r.policy.Precedence == PrecedenceNearest, compute: v.path.Kind == ComputePath && v.skipped.none(), trace: *t,
		}
		switch {
		case t.dependsOnTagOrder() && d.compute:
			r.conflict(ConflictTagOrder, rule.Label, d.tagOrder, d.objects()...)
		case t.near.differs(t.far):
			r.conflict(ConflictPrecedence, rule.Label, d.precedences, t.near.by, t.far.by)
		}
	}
}

func (r *resolution) conflict(kind ConflictKind, label string, why func() string, objects ...*Object) {
	r.placement.Conflicts = append(r.placement.Conflicts,
		Conflict{Kind: kind, Labels: []string{label}, Objects: objects, why: why})
}

// noteUnread notes the objects that count as untagged in what was decided.
func (r *resolution) noteUnread() {
	c := Conflict{Kind: ConflictUnread}
	for i := range r.placement.Decisions {
		d := &r.placement.Decisions[i]
		if len(d.Unread) == 0 {
			continue
		}
		c.Labels = append(c.Labels, d.Label)
		for _, o := range d.Unread {
			c.Objects = with(c.Objects, o)
		}
	}
	if len(c.Objects) > 0 {
		labels := c.Labels
		objects := c.Objects
		c.why = func() string {
			what := "it counts"
			if len(objects) > 1 {
				what = "they count"
			}
			return fmt.Sprintf("In vCenter %q the account lacks the privilege System.Read on %s, so %s as untagged for label %s. "+
				"Running Nodes keep these labels as they are. Give the account the role Read-only there, without propagation.",
				objects[0].Ref.VCenter, Named(objects), what, strings.Join(labels, ", "))
		}
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}

// compareWithDriver compares what was decided off the compute path with what the
// CSI driver finds on it. Where that cannot be read there is no conflict. System folders
// count as untagged.
func (r *resolution) compareWithDriver() {
	rules := r.policy.Rules
	p := r.path(ComputePath)
	var few [4]trace
	traces := append(few[:0], make([]trace, len(rules))...)
	if got := r.walk(p, traces); got.truncated() || len(got.skipped.objects) > 0 || r.invisible(false) != "" {
		return
	}
	c := Conflict{Kind: ConflictOffPath}
	var why offPath
	for i := range rules {
		d, decided := r.placement.decision(rules[i].Label)
		h := traces[i].far
		if !decided || d.Category == "" || h.by != nil && !h.several && !traces[i].dependsOnTagOrder() && h.name == d.Value {
			continue
		}
		c.Labels = append(c.Labels, d.Label)
		for _, o := range []*Object{d.By, h.by} {
			if o != nil && !slices.Contains(c.Objects, o) {
				c.Objects = append(c.Objects, o)
			}
		}
		why = append(why, unseen{decision: d, subject: rules[i].subject(), driver: h.by})
	}
	if len(why) > 0 {
		c.why = why.text
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}

// A disagreement is about a category that several levels of one path have.
type disagreement struct {
	// subject is what the tag decides, a label or a part of its value.
	subject, category string
	// nearest says that the nearest tag decides, compute that the path is the one
	// that the CSI driver reads.
	nearest, compute bool
	trace            trace
}

func (d disagreement) objects() []*Object {
	var objects []*Object
	for _, h := range []hit{d.trace.near, d.trace.before, d.trace.far} {
		if h.by != nil && !slices.Contains(objects, h.by) {
			objects = append(objects, h.by)
		}
	}
	return objects
}

// levels returns a text with the tags that the objects have.
func (d disagreement) levels(objects ...*Object) string {
	has := make([]string, len(objects))
	for i, o := range objects {
		has[i] = fmt.Sprintf("%s on %s", quoted(o.tagNames(d.category)), o.inVCenter())
	}
	return fmt.Sprintf("Category %q has tags on several levels of vCenter %q: %s.", d.category, objects[0].Ref.VCenter, strings.Join(has, ", "))
}

// either returns what a walk may take of an object.
func (d disagreement) either(h hit) string {
	return joined(h.by.tagNames(d.category), " or ")
}

const detachOthers = "Keep the tags of one level, and detach the others."

// sentence begins with a capital.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (d disagreement) precedences() string {
	t := &d.trace
	decided := fmt.Sprintf("%s is %s (precedence csi; nearest: %s).", sentence(d.subject), quote.Value(t.far.name), d.either(t.near))
	if d.nearest {
		decided = fmt.Sprintf("%s is %s (precedence nearest; csi: %s).", sentence(d.subject), quote.Value(t.near.name), d.either(t.far))
	}
	if d.compute {
		decided += fmt.Sprintf(" The CSI driver takes %s.", d.either(t.far))
	}
	return d.levels(t.near.by, t.far.by) + " " + decided + " " + detachOthers
}

func (d disagreement) tagOrder() string {
	t := &d.trace
	value := t.far.name
	if d.nearest {
		value = t.near.name
	}
	return fmt.Sprintf("%s The CSI driver takes %s or %s, by the order in which vCenter lists the tags of %s. %s is %s. %s",
		d.levels(d.objects()...), d.either(t.before), d.either(t.far), t.far.by.inVCenter(), sentence(d.subject), quote.Value(value), detachOthers)
}

// offPath are the values that the CSI driver does not find.
type offPath []unseen

type unseen struct {
	decision Decision
	subject  string
	// driver is the object whose tag the CSI driver takes instead, nil if it finds
	// none.
	driver *Object
}

func (all offPath) text() string {
	var gets, missing, sees []string
	for i, u := range all {
		d := u.decision
		get := fmt.Sprintf("%s is %s", u.subject, quote.Value(d.Value))
		if i == len(all)-1 || all[i+1].decision.By != d.By {
			get += fmt.Sprintf(" by %s", d.By)
		}
		gets = append(gets, get)
		if u.driver == nil {
			missing = append(missing, d.Category)
		} else {
			sees = append(sees, fmt.Sprintf("%s of category %q on %s", quoted(u.driver.tagNames(d.Category)), d.Category, u.driver))
		}
	}
	finds := "finds " + strings.Join(sees, " and ")
	if len(missing) > 0 {
		finds = "finds no tag of category " + quoted(missing) + ", gives the Node no topology"
	}
	return fmt.Sprintf("%s. The CSI driver reads the compute path only: it %s, and places no volume. "+
		"Move the tags to the host, its cluster or its datacenter.", sentence(strings.Join(gets, ", ")), finds)
}

// subject returns what a tag decides, for a text.
func (r *Rule) subject() string {
	if r.Value != nil {
		return "the tag for label " + r.Label
	}
	return "label " + r.Label
}

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
		// With one category for region and zone, equal names are intended.
		if len(p.VolumeCategories()) > 1 {
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
		tags[label] = name
		by = d.By
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
		regions := v.uses[tagUse{LabelRegion, name}]
		zones := v.uses[tagUse{LabelZone, name}]
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
