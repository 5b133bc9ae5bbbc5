package topology

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func chain() Policy {
	return Policy{
		Rules:  Rules{{Label: LabelRegion, Category: "r"}, {Label: LabelZone, Category: "z"}},
		Levels: Rules{{Label: "rack", Category: "k", Nested: true}, {Label: "folder", Inventory: InventoryFolder}, {Label: "host", Inventory: InventoryHost, Nested: true}},
	}
}

// at returns a placement by a host of vCenter east. The value "?" means undecided.
func at(host string, values ...string) Placement {
	by := &Object{Ref: Ref{VCenter: "east", Type: typeHost, ID: host}, Path: "/dc/host/" + host}
	var p Placement
	for i, label := range chain().Labels() {
		switch {
		case i >= len(values) || values[i] == "":
		case values[i] == "?":
			p.Undecided = append(p.Undecided, Undecided{label, ErrUnknown})
		default:
			p.Decisions = append(p.Decisions, Decision{Label: label, Value: values[i], By: by})
		}
	}
	return p
}

func TestUnnested(t *testing.T) {
	for name, c := range map[string]struct {
		placed []Placement
		want   []string
	}{
		"nested":                        {[]Placement{at("a", "eu", "eu-a", "r1", "f", "a"), at("b", "eu", "eu-b", "r2", "f", "b"), at("c", "us", "us-a", "r3", "f", "c")}, nil},
		"a zone of two regions":         {[]Placement{at("a", "eu", "az1"), at("b", "us", "az1")}, []string{"zone_in_two_regions az1"}},
		"a zone of a region and none":   {[]Placement{at("a", "eu", "az1"), at("b", "", "az1")}, []string{"zone_in_two_regions az1"}},
		"a region that is undecided":    {[]Placement{at("a", "eu", "az1"), at("b", "?", "az1")}, nil},
		"a rack in two zones":           {[]Placement{at("a", "eu", "a", "r1"), at("b", "eu", "b", "r1")}, []string{"not_nested r1"}},
		"a rack of one zone that isn't": {[]Placement{at("a", "eu", "a", "r1"), at("b", "us", "a", "r1")}, []string{"not_nested r1", "zone_in_two_regions a"}},
		"a host in two racks":           {[]Placement{at("a", "eu", "a", "r1", "", "h"), at("b", "eu", "a", "r2", "", "h")}, []string{"not_nested h"}},
		"a host without racks":          {[]Placement{at("a", "eu", "a", "", "", "h"), at("b", "eu", "b", "", "", "h")}, []string{"not_nested h"}},
		"a folder goes across":          {[]Placement{at("a", "eu", "a", "", "f"), at("b", "us", "b", "", "f")}, nil},
		"nothing":                       {[]Placement{{}, at("a", "eu")}, nil},
	} {
		for _, order := range []string{"as it is", "reversed"} {
			var got []string
			for v, conflict := range chain().Unnested(slices.Values(c.placed)) {
				got = append(got, fmt.Sprint(conflict.Kind, " ", v.Value))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %s: got %v, want %v", name, order, got, c.want)
			}
			slices.Reverse(c.placed)
		}
	}
}

func TestUnnestedTexts(t *testing.T) {
	placed := []Placement{at("b", "us", "az1", "r1"), at("a", "eu", "az1", "r1"), at("c", "eu", "az1", "r2"), at("d", "eu", "az2", "r2"), at("e", "", "az3"), at("f", "eu", "az3")}
	want := map[Value]string{
		{LabelZone, "az1"}: `Zone "az1" is not in exactly one region: in "eu" (host /dc/host/a of vCenter "east"), in "us" (host /dc/host/b of vCenter "east").`,
		{LabelZone, "az3"}: `Zone "az3" is not in exactly one region: in none (host /dc/host/e of vCenter "east"), in "eu" (host /dc/host/f of vCenter "east").`,
		{"rack", "r1"}:     `Value "r1" of label rack is not in exactly one value of label ` + LabelRegion + `: it is in "eu" (host /dc/host/a of vCenter "east"), in "us" (host /dc/host/b of vCenter "east").`,
		{"rack", "r2"}:     `Value "r2" of label rack is not in exactly one value of label ` + LabelZone + `: it is in "az1" (host /dc/host/c of vCenter "east"), in "az2" (host /dc/host/d of vCenter "east").`,
	}
	for range 2 {
		got := map[Value]string{}
		for v, c := range chain().Unnested(slices.Values(placed)) {
			text, _, _ := strings.Cut(c.Text(), ". ")
			got[v] = text + "."
			if len(c.Objects) != 2 || len(c.Labels) != 2 {
				t.Errorf("got %+v", c)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("got %v", got)
		}
		slices.Reverse(placed)
	}
}

func TestNesting(t *testing.T) {
	if got := fmt.Sprint(chain().Nesting()); got != fmt.Sprint([]string{LabelRegion, LabelZone, "rack", "host"}) {
		t.Errorf("got %s", got)
	}
	if got := (Policy{Rules: chain().Rules[1:]}).Unnested(slices.Values([]Placement{at("a", "eu", "a")})); len(got) != 0 {
		t.Errorf("a zone alone: got %v", got)
	}
}

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
		placedIn("paris", "c1", "eu", "b"), placedIn("milan", "c1", "us", "b"), // two pairs, see Unnested
		placedIn("paris", "c1", "eu", ""), placedIn("milan", "c1", "eu", ""), // a region alone may span
		placedIn("paris", "c1", "", "z"), placedIn("milan", "c1", "", "z"), // a zone alone may not
		{}, {},
	}
	undecided := placedIn("paris", "c1", "", "u")
	undecided.Undecided = []Undecided{{Label: LabelRegion, Err: ErrUnknown}}
	all = append(all, undecided, placedIn("milan", "c1", "", "u"))

	want := map[Pair]string{
		{"eu", "a"}: `Zone "a" of region "eu" is in 2 vCenters: cluster /dc/host/c1 of vCenter "milan", cluster /dc/host/c1 of vCenter "paris". ` +
			`The CSI driver cannot place volumes in a zone that spans vCenters. Give the zone or the region a different name in each vCenter.`,
		{"", "z"}: `Zone "z" is in 2 vCenters: cluster /dc/host/c1 of vCenter "milan", cluster /dc/host/c1 of vCenter "paris". ` +
			`The CSI driver cannot place volumes in a zone that spans vCenters. Give the zone or the region a different name in each vCenter.`,
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
		_, absent, unknown := (&resolution{search: search{policy: &Policy{}}}).find(kind)
		if absent != "" || unknown == "" {
			t.Errorf("find(%s) for a VM without paths: absent %q, unknown %q, want only unknown", kind, absent, unknown)
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
			t.Errorf("got a conflict of kind %s, want %s about category \"a\" and label %s: %s", c.Kind, ConflictNoCategory, c.Labels[0], c.Text())
		}
	}
	if fmt.Sprint(got) != "[r l]" || p.NoCategory(nil) != nil {
		t.Errorf("got %v", got)
	}
	before := p.NoCategory([]string{"a"})[0]
	p.Visible = []string{"backup", "new\nline"}
	// The text lists other users' categories on one line, but the key does not.
	if now := p.NoCategory([]string{"a"})[0]; now.Key() != before.Key() || now.Text() != before.Text()+` The VM's vCenter has "backup", "new\nline".` {
		t.Errorf("with other categories in the vCenter the conflict is\n%s (key %s)\nwant the same key and the categories on one line behind\n%s", now.Text(), now.Key(), before.Text())
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
		t.Errorf("a policy without categories: got the categories %v and the paths %v, want neither", got, paths)
	}
	if got := p.TagPaths(); !slices.Equal(got, DefaultPaths()) {
		t.Errorf("got %v", got)
	}
	p.Paths = []PathKind{FolderPath, ComputePath}
	if got := p.TagPaths(); !slices.Equal(got, p.Paths) {
		t.Errorf("got %v", got)
	}
}

// TestAbsentIsNotUndecided checks that labels that a Node may lose differ from labels that it keeps.
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

var tagsPolicy = Policy{Rules: Rules{{Label: LabelRegion, Category: "region"}, {Label: LabelZone, Category: "zone"}}}

// taggedIn returns a placement by the tags of a cluster.
func taggedIn(vcenter, region, zone string) Placement {
	by := &Object{Ref: Ref{VCenter: vcenter, Type: typeCluster, ID: "c"}, Path: "/dc/host/c", Tags: []Tag{{"region", region}, {"zone", zone}}}
	p := Placement{Decisions: []Decision{{Label: LabelZone, Value: zone, Category: "zone", By: by}}}
	if region != "" {
		p.Decisions = append(p.Decisions, Decision{Label: LabelRegion, Value: region, Category: "region", By: by})
	}
	return p
}

func composedAs(p Placement, zone string) Placement {
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Label == LabelZone {
			d.Plain, d.Value = d.Value, zone
		}
	}
	return p
}

// TestVolumes checks that exactly the pairs that the CSI driver's volume code cannot place give a
// conflict, in any order.
func TestVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		placed []Placement
		want   map[Pair]string
	}{
		"nothing":                               {nil, nil},
		"a region in two vCenters, zones apart": {[]Placement{taggedIn("A", "east", "a"), taggedIn("B", "east", "b")}, nil},
		"each name elsewhere": {
			[]Placement{taggedIn("A", "east", "a"), taggedIn("B", "east", "b"), taggedIn("B", "west", "a")},
			map[Pair]string{{"east", "a"}: "names_span_vcenters"},
		},
		"one of the names elsewhere":           {[]Placement{taggedIn("A", "east", "a"), taggedIn("B", "west", "a")}, nil},
		"the pair in both is another conflict": {[]Placement{taggedIn("A", "east", "a"), taggedIn("B", "east", "a")}, nil},
		"a zone without a region, elsewhere": {
			[]Placement{taggedIn("A", "", "a"), taggedIn("B", "west", "a")}, map[Pair]string{{"", "a"}: "names_span_vcenters"},
		},
		"from the inventory": {[]Placement{placedIn("A", "c", "east", "a"), taggedIn("B", "east", "b"), taggedIn("B", "west", "a")}, nil},
		"one name for region and zone": {
			[]Placement{taggedIn("A", "x", "x"), taggedIn("A", "y", "b")}, map[Pair]string{{"x", "x"}: "region_and_zone"},
		},
		"a zone elsewhere has the region's name": {
			[]Placement{taggedIn("A", "x", "a"), taggedIn("B", "y", "x")},
			map[Pair]string{{"x", "a"}: "region_and_zone", {"y", "x"}: "region_and_zone"},
		},
		"the same names, composed by vCenter": {
			[]Placement{composedAs(taggedIn("A", "east", "a"), "A-a"), composedAs(taggedIn("B", "east", "a"), "B-a")},
			map[Pair]string{{"east", "A-a"}: "names_span_vcenters", {"east", "B-a"}: "names_span_vcenters"},
		},
		"one value of different names": {
			[]Placement{composedAs(taggedIn("A", "east", "y-z"), "x-y-z"), composedAs(taggedIn("A", "east", "z"), "x-y-z"), taggedIn("B", "east", "z")},
			map[Pair]string{{"east", "x-y-z"}: "names_span_vcenters", {"east", "z"}: "names_span_vcenters"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got := map[Pair]string{}
				for pair, conflicts := range tagsPolicy.Volumes(slices.Values(c.placed)) {
					for _, conflict := range conflicts {
						got[pair] += string(conflict.Kind)
						if text := conflict.Text(); text == "" || len(text) > 1024 || strings.Contains(text, "\n") || len(conflict.Labels) == 0 {
							t.Errorf("%d bytes: %s", len(text), text)
						}
						t.Log(conflict.Text())
					}
				}
				if !maps.Equal(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
				slices.Reverse(c.placed)
			}
		})
	}
}

// TestVolumesOfOneCategory checks that with one category for region and zone, a tag that is both is no
// conflict.
func TestVolumesOfOneCategory(t *testing.T) {
	policy := Policy{Rules: Rules{{Label: LabelRegion, Category: "site"}, {Label: LabelZone, Category: "site"}}}
	placed := func(vcenter, name string) Placement {
		by := &Object{Ref: Ref{VCenter: vcenter, Type: typeCluster, ID: "c"}, Path: "/dc/host/c", Tags: []Tag{{"site", name}}}
		return Placement{Decisions: []Decision{
			{Label: LabelRegion, Value: name, Category: "site", By: by}, {Label: LabelZone, Value: name, Category: "site", By: by},
		}}
	}
	if got := policy.Volumes(slices.Values([]Placement{placed("A", "a"), placed("B", "b")})); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	absent := policy.MissingCategories(map[string][]string{"A": nil, "B": {"site"}})
	if len(absent) != 1 || !slices.Equal(absent[0].Labels, []string{LabelRegion, LabelZone}) || !strings.HasPrefix(absent[0].Text(), `vCenter "B" has no tag category "site"`) {
		t.Errorf("got %v", absent)
	}
	none := policy.NoCategory([]string{"site"})
	if len(none) != 2 || none[0].Text() == none[1].Text() {
		t.Errorf("got %v", none)
	}
}

func TestMissingCategories(t *testing.T) {
	for name, c := range map[string]struct {
		absent map[string][]string
		want   string
	}{
		"none":                {nil, ""},
		"one":                 {map[string][]string{"a": nil, "b": nil}, ""},
		"in one of two":       {map[string][]string{"a": {"zone"}, "b": nil}, LabelZone},
		"in both":             {map[string][]string{"a": {"zone"}, "b": {"zone"}}, ""},
		"each in one":         {map[string][]string{"a": {"zone"}, "b": {"region"}}, LabelRegion + LabelZone},
		"of a level":          {map[string][]string{"a": {"rack"}, "b": nil}, ""},
		"the only one has it": {map[string][]string{"a": {"zone"}}, ""},
	} {
		got := ""
		for _, conflict := range tagsPolicy.MissingCategories(c.absent) {
			got += conflict.Labels[0]
			if conflict.Kind != ConflictMissingCategory || !strings.Contains(conflict.Text(), `"a"`) && !strings.Contains(conflict.Text(), `"b"`) {
				t.Errorf("got a conflict of kind %s, want %s that names the vCenter: %s", conflict.Kind, ConflictMissingCategory, conflict.Text())
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
