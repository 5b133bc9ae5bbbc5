package topology

import (
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

// at is a placement by hosts of vCenter east. "?" is undecided.
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

// TestUnnestedTexts: a text names the outer values and what gave them, in whatever
// order the placements come.
func TestUnnestedTexts(t *testing.T) {
	placed := []Placement{at("b", "us", "az1", "r1"), at("a", "eu", "az1", "r1"), at("c", "eu", "az1", "r2"), at("d", "eu", "az2", "r2"), at("e", "", "az3"), at("f", "eu", "az3")}
	want := map[Value]string{
		{LabelZone, "az1"}: `Zone "az1" is not of one region: it is in "eu" by host /dc/host/a of vCenter "east", in "us" by host /dc/host/b of vCenter "east".`,
		{LabelZone, "az3"}: `Zone "az3" is not of one region: it is in none by host /dc/host/e of vCenter "east", in "eu" by host /dc/host/f of vCenter "east".`,
		{"rack", "r1"}:     `Value "r1" of label rack does not lie in one value of label ` + LabelRegion + `: it is in "eu" by host /dc/host/a of vCenter "east", in "us" by host /dc/host/b of vCenter "east".`,
		{"rack", "r2"}:     `Value "r2" of label rack does not lie in one value of label ` + LabelZone + `: it is in "az1" by host /dc/host/c of vCenter "east", in "az2" by host /dc/host/d of vCenter "east".`,
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

func BenchmarkUnnested(b *testing.B) {
	var all []Placement
	for i := range 5000 {
		host := fmt.Sprint("h", i%500)
		all = append(all, at(host, fmt.Sprint("r", i%5), fmt.Sprint("z", i%50), fmt.Sprint("k", i%250), "f", host))
	}
	policy := chain()
	b.ReportAllocs()
	for b.Loop() {
		if got := policy.Unnested(slices.Values(all)); len(got) != 0 {
			b.Fatal(got)
		}
	}
}
