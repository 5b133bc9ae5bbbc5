package topology

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// placedIn is a placement by a cluster of a vCenter.
func placedIn(vcenter, cluster, region, zone string) Placement {
	by := &Object{Ref: Ref{VCenter: vcenter, Type: typeCluster, ID: cluster}, Path: "/dc/host/" + cluster}
	var p Placement
	if region != "" {
		p.Decisions = append(p.Decisions, Decision{Label: LabelRegion, Value: region, By: by})
	}
	if zone != "" {
		p.Decisions = append(p.Decisions, Decision{Label: LabelZone, Value: zone, By: by})
	}
	return p
}

func TestSpanning(t *testing.T) {
	all := []Placement{
		placedIn("paris", "c2", "eu", "a"), placedIn("paris", "c1", "eu", "a"), placedIn("paris", "c1", "eu", "a"),
		placedIn("milan", "c1", "eu", "a"),                                     // spans
		placedIn("paris", "c1", "eu", "b"), placedIn("milan", "c1", "us", "b"), // two pairs, which Unnested tells of
		placedIn("paris", "c1", "eu", ""), placedIn("milan", "c1", "eu", ""), // a region alone may span
		placedIn("paris", "c1", "", "z"), placedIn("milan", "c1", "", "z"), // a zone alone may not
		{}, {},
	}
	undecided := placedIn("paris", "c1", "", "u")
	undecided.Undecided = []Undecided{{Label: LabelRegion, Err: ErrUnknown}}
	all = append(all, undecided, placedIn("milan", "c1", "", "u"))

	want := map[Pair]string{
		{"eu", "a"}: `Zone "a" of region "eu" is in 2 vCenters: cluster /dc/host/c1 of vCenter "milan", cluster /dc/host/c1 of vCenter "paris". ` +
			`The CSI driver can place no volume in a zone that spans vCenters. Give the zone or the region a name of its own in each vCenter.`,
		{"", "z"}: `Zone "z" is in 2 vCenters: cluster /dc/host/c1 of vCenter "milan", cluster /dc/host/c1 of vCenter "paris". ` +
			`The CSI driver can place no volume in a zone that spans vCenters. Give the zone or the region a name of its own in each vCenter.`,
	}
	for _, order := range []string{"as it is", "reversed"} {
		got := map[Pair]string{}
		for pair, c := range Spanning(slices.Values(all)) {
			got[pair] = c.Text()
			if c.Kind != ConflictSpans || len(c.Objects) != 2 {
				t.Errorf("got %+v", c)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v", order, got)
		}
		slices.Reverse(all)
	}
}

func TestKindsAreAllListed(t *testing.T) {
	if got := len(ConflictKinds()); got != 15 {
		t.Errorf("%d kinds", got)
	}
	for _, kind := range Inventories() {
		_, absent, unknown := (&resolution{policy: &Policy{}}).find(kind)
		if absent != "" || unknown == "" {
			t.Errorf("%s of a machine without paths: %q, %q", kind, absent, unknown)
		}
	}
}

func TestNoCategory(t *testing.T) {
	p := Policy{
		Rules:  Rules{{Label: "r", Category: "a"}, {Label: "z", Inventory: InventoryCluster}},
		Levels: Rules{{Label: "l", Category: "a"}, {Label: "m", Category: "b"}},
	}
	var got []string
	for _, c := range p.NoCategory([]string{"a", "c", ""}) {
		got = append(got, c.Labels...)
		if c.Kind != ConflictNoCategory || !strings.Contains(c.Text(), `"a"`) || !strings.Contains(c.Text(), "label "+c.Labels[0]) {
			t.Errorf("%s: %s", c.Kind, c.Text())
		}
	}
	if fmt.Sprint(got) != "[r l]" || p.NoCategory(nil) != nil {
		t.Errorf("got %v", got)
	}
	before := p.NoCategory([]string{"a"})[0]
	p.Visible = []string{"backup", "new\nline"}
	// What others make is in the text, on one line, and no other conflict.
	if now := p.NoCategory([]string{"a"})[0]; now.Key() != before.Key() || now.Text() != before.Text()+` The machine's vCenter has "backup", "new\nline".` {
		t.Errorf("%s", now.Text())
	}
}

func TestPolicy(t *testing.T) {
	p := Policy{
		Rules:  Rules{{Label: "r", Category: "a"}, {Label: "z", Inventory: InventoryCluster}},
		Levels: Rules{{Label: "l", Category: "a"}, {Label: "m", Category: "b"}},
	}
	p.Levels[1].Required = true
	if !p.IsRequired("m") || p.IsRequired("l") || p.IsRequired("x") {
		t.Error("required are others")
	}
	if got := fmt.Sprint(p.Categories(), p.Labels()); got != "[a b] [r z l m]" {
		t.Errorf("got %s", got)
	}
	inventoryOnly := Policy{Levels: Rules{{Label: "l", Inventory: InventoryHost}}, Paths: []PathKind{FolderPath}}
	if got, paths := inventoryOnly.Categories(), inventoryOnly.TagPaths(); got != nil || paths != nil {
		t.Errorf("got %v, %v", got, paths)
	}
	if got := p.TagPaths(); !slices.Equal(got, DefaultPaths()) {
		t.Errorf("got %v", got)
	}
	p.Paths = []PathKind{FolderPath, ComputePath}
	if got := p.TagPaths(); !slices.Equal(got, p.Paths) {
		t.Errorf("got %v", got)
	}
}

// TestAbsentIsNotUndecided: of the labels that a placement does not decide, those
// that a Node may lose are told apart from those that it keeps.
func TestAbsentIsNotUndecided(t *testing.T) {
	p := placedIn("east", "c1", "eu", "a")
	p.Decisions = append(p.Decisions, Decision{Label: "example.com/rack", Value: "r1"})
	p.Undecided = []Undecided{{Label: "example.com/row", Err: fmt.Errorf("%w: refused", ErrUnknown)}}
	if err := p.WhyUndecided("example.com/row"); !errors.Is(err, ErrUnknown) || p.Value("example.com/row") != "" {
		t.Errorf("row: %v", err)
	}
	if err := p.WhyUndecided("example.com/room"); err != nil || p.Value("example.com/room") != "" {
		t.Errorf("room: %v", err)
	}
	if err := p.WhyUndecided(LabelZone); err != nil || p.Value(LabelZone) != "a" {
		t.Errorf("zone: %v", err)
	}
	if got := p.Further(); !maps.Equal(got, map[string]string{"example.com/rack": "r1"}) {
		t.Errorf("further: %v", got)
	}
	if got := placedIn("east", "c1", "eu", "a").Further(); got != nil {
		t.Errorf("further without levels: %v", got)
	}
}

func BenchmarkSpanning(b *testing.B) {
	var all []Placement
	for i := range 5000 {
		all = append(all, placedIn(fmt.Sprint("vc", i%10), "c1", "eu", fmt.Sprint("zone", i%100)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if got := Spanning(slices.Values(all)); len(got) != 0 {
			b.Fatal(got)
		}
	}
}
