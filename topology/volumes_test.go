package topology

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// tagsPolicy is that of a region and a zone from tags.
var tagsPolicy = Policy{Rules: Rules{{Label: LabelRegion, Category: "region"}, {Label: LabelZone, Category: "zone"}}}

// taggedIn is a placement by the tags of a cluster, with the tags as the values.
func taggedIn(vcenter, region, zone string) Placement {
	by := &Object{Ref: Ref{VCenter: vcenter, Type: typeCluster, ID: "c"}, Path: "/dc/host/c", Tags: []Tag{{"region", region}, {"zone", zone}}}
	p := Placement{Decisions: []Decision{{Label: LabelZone, Value: zone, Category: "zone", By: by}}}
	if region != "" {
		p.Decisions = append(p.Decisions, Decision{Label: LabelRegion, Value: region, Category: "region", By: by})
	}
	return p
}

// composedAs is a placement whose zone is composed.
func composedAs(p Placement, zone string) Placement {
	for i := range p.Decisions {
		if d := &p.Decisions[i]; d.Label == LabelZone {
			d.Plain, d.Value = d.Value, zone
		}
	}
	return p
}

// TestVolumes: exactly what the CSI driver's volume code cannot place, in any order.
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

// TestVolumesOfOneCategory: where a category is meant to be region and zone, that each of its
// tags is both is no conflict.
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
				t.Errorf("%s: %s", conflict.Kind, conflict.Text())
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
