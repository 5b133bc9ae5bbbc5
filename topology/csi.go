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

// CSIPolicy returns the CSI driver's own policy for these tag categories. All are required, because
// the driver reports no topology if one is missing.
func CSIPolicy(categories []string) Policy {
	p := Policy{Precedence: PrecedenceCSI, Paths: []PathKind{ComputePath}}
	for _, c := range categories {
		p.Rules = append(p.Rules, Rule{Label: CSIDomain + "/" + c, Category: c, Required: true})
	}
	return p
}

// NotCSI returns a conflict for each label in Rules whose value is not a tag's name.
func (p Policy) NotCSI() []Conflict {
	var conflicts []Conflict
	for _, r := range p.Rules {
		if r.Value != nil || r.Category == "" {
			conflicts = append(conflicts, Conflict{Kind: ConflictNotCSI, Labels: []string{r.Label}, why: r.notSeenByCSI})
		}
	}
	return conflicts
}

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
		return composed + ": it reads only tags. Without the driver this does not matter; with it, take region and zone from tags."
	}
	return fmt.Sprintf("%s: StorageClasses and volumes use the tag names of category %q, each of which must be in one vCenter. "+
		"If the tags can be renamed, rename them to these values, and remove value from the configuration.", composed, r.Category)
}

func (r *resolution) compare(v choice, traces []trace) {
	if v.path.Kind != ComputePath {
		r.compareWithDriver()
	}
	// Tags that were not read could change the comparison.
	if v.truncated || r.firstInvisible(false) != "" {
		return
	}
	for i := range r.policy.Rules {
		rule := &r.policy.Rules[i]
		t := &traces[i]
		chosen := t.chosen(r.policy.Precedence)
		if chosen.object == nil || chosen.isAmbiguous {
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
			r.conflict(ConflictPrecedence, rule.Label, d.precedences, t.near.object, t.far.object)
		}
	}
}

func (r *resolution) conflict(kind ConflictKind, label string, why func() string, objects ...*Object) {
	r.placement.Conflicts = append(r.placement.Conflicts,
		Conflict{Kind: kind, Labels: []string{label}, Objects: objects, why: why})
}

func (r *resolution) reportUnread() {
	c := Conflict{Kind: ConflictUnread}
	for i := range r.placement.Decisions {
		d := &r.placement.Decisions[i]
		if len(d.Unread) == 0 {
			continue
		}
		c.Labels = append(c.Labels, d.Label)
		for _, o := range d.Unread {
			c.Objects = appendUnique(c.Objects, o)
		}
	}
	if len(c.Objects) > 0 {
		labels := c.Labels
		objects := c.Objects
		c.why = func() string {
			clause := "it is treated"
			if len(objects) > 1 {
				clause = "they are treated"
			}
			return fmt.Sprintf("In vCenter %q the account lacks the privilege System.Read on %s, so %s as untagged for label %s. "+
				"Running Nodes keep these labels as they are. Give the account the role Read-only there, without propagation.",
				objects[0].Ref.VCenter, DescribeObjects(objects), clause, strings.Join(labels, ", "))
		}
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}

func (r *resolution) compareWithDriver() {
	rules := r.policy.Rules
	p := r.path(ComputePath)
	var buffer [4]trace
	traces := append(buffer[:0], make([]trace, len(rules))...)
	if got := r.walk(p, traces); got.truncated() || len(got.skipped.objects) > 0 || r.firstInvisible(false) != "" {
		return
	}
	c := Conflict{Kind: ConflictOffPath}
	var why offPath
	for i := range rules {
		d, decided := r.placement.decision(rules[i].Label)
		h := traces[i].far
		if !decided || d.Category == "" || h.object != nil && !h.isAmbiguous && !traces[i].dependsOnTagOrder() && h.name == d.Value {
			continue
		}
		c.Labels = append(c.Labels, d.Label)
		for _, o := range []*Object{d.By, h.object} {
			if o != nil && !slices.Contains(c.Objects, o) {
				c.Objects = append(c.Objects, o)
			}
		}
		why = append(why, unseen{decision: d, subject: rules[i].subject(), driver: h.object})
	}
	if len(why) > 0 {
		c.why = why.text
		r.placement.Conflicts = append(r.placement.Conflicts, c)
	}
}

type disagreement struct {
	subject, category string
	nearest, compute  bool
	trace             trace
}

func (d disagreement) objects() []*Object {
	var objects []*Object
	for _, h := range []hit{d.trace.near, d.trace.overwritten, d.trace.far} {
		if h.object != nil && !slices.Contains(objects, h.object) {
			objects = append(objects, h.object)
		}
	}
	return objects
}

func (d disagreement) levels(objects ...*Object) string {
	tags := make([]string, len(objects))
	for i, o := range objects {
		tags[i] = fmt.Sprintf("%s on %s", quoted(o.tagNames(d.category)), o.inVCenter())
	}
	return fmt.Sprintf("Category %q has tags on several levels of vCenter %q: %s.", d.category, objects[0].Ref.VCenter, strings.Join(tags, ", "))
}

func (d disagreement) alternatives(h hit) string {
	return joined(h.object.tagNames(d.category), " or ")
}

const detachOthers = "Keep the tags of one level, and detach the others."

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (d disagreement) precedences() string {
	t := &d.trace
	decided := fmt.Sprintf("%s is %s (precedence csi; nearest: %s).", capitalized(d.subject), quote.Value(t.far.name), d.alternatives(t.near))
	if d.nearest {
		decided = fmt.Sprintf("%s is %s (precedence nearest; csi: %s).", capitalized(d.subject), quote.Value(t.near.name), d.alternatives(t.far))
	}
	if d.compute {
		decided += fmt.Sprintf(" The CSI driver takes %s.", d.alternatives(t.far))
	}
	return d.levels(t.near.object, t.far.object) + " " + decided + " " + detachOthers
}

func (d disagreement) tagOrder() string {
	t := &d.trace
	value := t.far.name
	if d.nearest {
		value = t.near.name
	}
	return fmt.Sprintf("%s The CSI driver takes %s or %s, depending on the order in which vCenter lists the tags of %s. %s is %s. %s",
		d.levels(d.objects()...), d.alternatives(t.overwritten), d.alternatives(t.far), t.far.object.inVCenter(), capitalized(d.subject), quote.Value(value), detachOthers)
}

type offPath []unseen

type unseen struct {
	decision Decision
	subject  string
	// driver is the object whose tag the CSI driver takes instead, or nil.
	driver *Object
}

func (o offPath) text() string {
	var gets, missing, sees []string
	for i, u := range o {
		d := u.decision
		get := fmt.Sprintf("%s is %s", u.subject, quote.Value(d.Value))
		if i == len(o)-1 || o[i+1].decision.By != d.By {
			get += fmt.Sprintf(" (tag on %s)", d.By)
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
		"Move the tags to the host, its cluster or its datacenter.", capitalized(strings.Join(gets, ", ")), finds)
}

func (r *Rule) subject() string {
	if r.Value != nil {
		return "the tag for label " + r.Label
	}
	return "label " + r.Label
}

// Volumes returns, for each pair, the conflicts that keep the vSphere CSI driver from placing
// volumes although it gives the Nodes their topology. For volumes the driver searches downwards:
// from the names of both tags to all objects that have them. See DiscoverTagEntities,
// GetHostsForSegment and getVCForTopologySegments in the driver's
// pkg/csi/service/common/topology.go.
func (p Policy) Volumes(placements iter.Seq[Placement]) map[Pair][]Conflict {
	v := volumes{uses: map[tagUse]map[string]bool{}, names: map[string]map[string]bool{}, domains: map[tagPair]*domain{}}
	for placed := range placements {
		v.place(placed)
	}
	conflicts := map[Pair][]Conflict{}
	for _, pair := range slices.SortedFunc(maps.Keys(v.domains), tagPair.compare) {
		d := v.domains[pair]
		var sameNames []Conflict
		// With one category for region and zone, equal names are intended.
		if len(p.VolumeCategories()) > 1 {
			sameNames = v.regionAndZone(d)
		}
		for _, found := range slices.Concat(v.namesInOtherVCenters(pair.Pair, d), sameNames) {
			if !slices.ContainsFunc(conflicts[pair.Pair], func(c Conflict) bool { return c.Text() == found.Text() }) {
				conflicts[pair.Pair] = append(conflicts[pair.Pair], found)
			}
		}
	}
	return conflicts
}

// VolumeCategories returns the tag categories of region and zone.
func (p Policy) VolumeCategories() []string {
	var names []string
	for _, label := range [...]string{LabelRegion, LabelZone} {
		if name := p.categoryOf(label); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (p Policy) categoryOf(label string) string {
	for _, r := range p.Rules {
		if r.Label == label {
			return r.Category
		}
	}
	return ""
}

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

// A tagPair is a pair and its tags. With composed values, different tags can give the same pair.
type tagPair struct {
	Pair
	region, zone string
}

func (t tagPair) compare(other tagPair) int {
	return cmp.Or(cmp.Compare(t.Region, other.Region), cmp.Compare(t.Zone, other.Zone), cmp.Compare(t.region, other.region), cmp.Compare(t.zone, other.zone))
}

type domain struct {
	tags     map[string]string
	deciders map[string]*Object
}

type volumes struct {
	// uses contains the vCenters of each tag name of a label, and names the tag names of each
	// vCenter.
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

// place ignores a pair that does not come from tags, as the driver does.
func (v *volumes) place(placed Placement) {
	pair, ok := placed.Pair()
	if !ok {
		return
	}
	tags := map[string]string{}
	var decider *Object
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
		decider = d.By
	}
	key := tagPair{pair, tags[LabelRegion], tags[LabelZone]}
	if v.domains[key] == nil {
		v.domains[key] = &domain{tags: tags, deciders: map[string]*Object{}}
	}
	deciders := v.domains[key].deciders
	if known := deciders[decider.Ref.VCenter]; known == nil || CompareObjects(decider, known) < 0 {
		deciders[decider.Ref.VCenter] = decider
	}
}

func (d Decision) tag() (string, bool) {
	if d.Category == "" || d.By == nil {
		return "", false
	}
	h := d.By.tagged(d.Category)
	return h.name, h.object != nil && !h.isAmbiguous
}

func (v *volumes) namesInOtherVCenters(pair Pair, d *domain) []Conflict {
	if len(d.deciders) != 1 {
		return nil
	}
	var vcenters []string
	for vcenter, names := range v.names {
		if v.hasPair(pair, vcenter) {
			continue
		}
		hasAll := true
		for _, name := range d.tags {
			hasAll = hasAll && names[name]
		}
		if hasAll {
			vcenters = append(vcenters, vcenter)
		}
	}
	if len(vcenters) == 0 {
		return nil
	}
	slices.Sort(vcenters)
	deciders := d.objects()
	return []Conflict{{Kind: ConflictNames, Labels: pair.labels(), Objects: deciders, why: func() string {
		subject := "vCenter %s has"
		if len(vcenters) > 1 {
			subject = "vCenters %s have"
		}
		return fmt.Sprintf("%s is in vCenter %q (%s), and %s tags named %s too, though no Node there has this region and zone. "+
			"The CSI driver searches for each name separately, finds them in several vCenters, and places no volume. "+
			"Rename one of the tags in one of the vCenters, or detach it there.",
			pair.described(), deciders[0].Ref.VCenter, deciders[0], fmt.Sprintf(subject, quoted(vcenters)), d.list())
	}}}
}

func (v *volumes) hasPair(pair Pair, vcenter string) bool {
	for key, d := range v.domains {
		if key.Pair == pair && d.deciders[vcenter] != nil {
			return true
		}
	}
	return false
}

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
				return fmt.Sprintf("Tag name %s is a region in vCenter %s and a zone in vCenter %s. The CSI driver identifies tags only by name, "+
					"so objects with one tag hide objects with the other: it may place volumes on the wrong hosts, or nowhere. Rename one of the two tags.",
					quote.Value(name), quoted(slices.Sorted(maps.Keys(regions))), quoted(slices.Sorted(maps.Keys(zones))))
			},
		})
	}
	return conflicts
}

func (d *domain) objects() []*Object {
	return slices.SortedFunc(maps.Values(d.deciders), CompareObjects)
}

func (d *domain) list() string {
	names := []string{d.tags[LabelZone]}
	if region, ok := d.tags[LabelRegion]; ok && region != names[0] {
		names = []string{region, names[0]}
	}
	return joined(names, " and ")
}
