package config

import (
	"slices"
	"strings"
	"testing"
)

// datacentersOfTest are those of a vCenter, as vSphere names them.
var datacentersOfTest = []Datacenter{
	{"datacenter-2", "dc1", "/dc1"},
	{"datacenter-3", "dc2", "/prod/dc2"},
	{"datacenter-4", "dc1", "/prod/eu/dc1"},
	{"datacenter-5", "a%2fb", "/a%2fb"},
	{"datacenter-6", "dc[1]", "/odd/dc[1]"},
	{"datacenter-7", "datacenter-2", "/odd/datacenter-2"},
	{"datacenter-8", `c:\x`, `/odd/c:\x`},
	{"datacenter-9", "100%25", "/odd/100%25"},
	{"datacenter-10", "Datacenter:x", "/odd/Datacenter:x"},
	{"datacenter-11", "...", "/dots/..."},
}

func TestMatchDatacenters(t *testing.T) {
	for _, c := range []struct {
		element string
		form    DatacenterForm
		ids     string // without datacenter-
	}{
		{"dc1", DatacenterName, "2 4"}, // in folders too
		{"DC1", DatacenterName, ""},
		{"dc", DatacenterName, ""},
		{"a/b", DatacenterPath, "5"}, // as vSphere shows it
		{"a%2fb", DatacenterName, "5"},
		{"100%", DatacenterName, "9"},
		{`c:\x`, DatacenterName, "8"},
		{"dc[1]", DatacenterNamePattern, "2 4 6"}, // the name itself, and what the pattern fits
		{"dc*", DatacenterNamePattern, "2 3 4 6"},
		{"dc?", DatacenterNamePattern, "2 3 4"},
		{"dc[2-9]", DatacenterNamePattern, "3"},
		{"dc[^2-9]", DatacenterNamePattern, "2 4"},
		{`dc\[1\]*`, DatacenterNamePattern, "6"},
		{"*", DatacenterNamePattern, "2 3 4 5 6 7 8 9 10 11"},
		{"a?b", DatacenterNamePattern, ""}, // no * or ? stands for a slash
		{"x*", DatacenterNamePattern, ""},
		{"/dc1", DatacenterPath, "2"},
		{"dc1/", DatacenterPath, "2"},
		{"./dc1", DatacenterPath, "2"},
		{"prod/dc2", DatacenterPath, "3"},
		{"//prod//dc2//", DatacenterPath, "3"},
		{"/prod/dc1", DatacenterPath, ""},
		{"/prod", DatacenterPath, ""},
		{"/odd/dc[1]", DatacenterPathPattern, "6"},
		{"/odd/100%", DatacenterPath, "9"},
		{"/*", DatacenterPathPattern, "2 5"},
		{"/dc*", DatacenterPathPattern, "2"},
		{"prod/*", DatacenterPathPattern, "3"},
		{"/prod/*/dc1", DatacenterPathPattern, "4"},
		{"/p*/dc?", DatacenterPathPattern, "3"},
		{"/prod/...", DatacenterPathPattern, "3 4"},
		{"/...", DatacenterPathPattern, "2 3 4 5 6 7 8 9 10 11"},
		{"...", DatacenterName, "11"}, // as in govmomi it is none without a slash
		{"/", DatacenterPath, ""},
		{"Datacenter:datacenter-3", DatacenterReference, "3"},
		{"Datacenter:datacenter-33", DatacenterReference, ""},
		{"Datacenter:x", DatacenterName, "10"},
		{"Folder:group-d1", DatacenterName, ""},
		{"datacenter-3", DatacenterNameOrID, "3"},
		{"datacenter-2", DatacenterNameOrID, "7"}, // the name comes first
		{"datacenter-", DatacenterName, ""},
	} {
		form, err := FormOfDatacenter(c.element)
		if err != nil || form != c.form {
			t.Errorf("%s is read as %v, %v, want %v", c.element, form, err, c.form)
		}
		matched, unmatched := MatchDatacenters([]string{c.element}, datacentersOfTest)
		var ids []string
		for _, d := range matched {
			ids = append(ids, strings.TrimPrefix(d.ID, "datacenter-"))
		}
		slices.SortFunc(ids, func(a, b string) int { return len(a) - len(b) })
		got := strings.Fields(c.ids)
		if !equalSets(ids, got) {
			t.Errorf("%s means %v, want %v", c.element, ids, got)
		}
		if (len(matched) == 0) != slices.Equal(unmatched, []string{c.element}) {
			t.Errorf("%s means %v, and %v is unmatched", c.element, ids, unmatched)
		}
	}
}

func equalSets(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// TestMatchDatacentersTogether: several elements mean each datacenter once, in their
// order, and each that means none is told of.
func TestMatchDatacentersTogether(t *testing.T) {
	matched, unmatched := MatchDatacenters([]string{"x*", "/prod/dc2", "dc*", "Datacenter:datacenter-4", "gone"}, datacentersOfTest)
	var ids []string
	for _, d := range matched {
		ids = append(ids, d.ID)
	}
	if want := []string{"datacenter-3", "datacenter-2", "datacenter-4", "datacenter-6"}; !slices.Equal(ids, want) {
		t.Errorf("matched %v, want %v", ids, want)
	}
	if want := []string{"x*", "gone"}; !slices.Equal(unmatched, want) {
		t.Errorf("unmatched %v, want %v", unmatched, want)
	}
}

// FuzzMatchDatacenters: whatever is written and however datacenters are called, the name
// itself means the datacenter, unless it is a mistake.
func FuzzMatchDatacenters(f *testing.F) {
	f.Add("dc[1]", "dc1")
	f.Add("/a/../b", `a\`)
	f.Add("datacenter-1", "[")
	f.Fuzz(func(t *testing.T, element, name string) {
		all := []Datacenter{{"datacenter-1", name, "/" + name}}
		matched, unmatched := MatchDatacenters([]string{element}, all)
		if len(matched)+len(unmatched) != 1 {
			t.Errorf("%q means %v, and %v is unmatched", element, matched, unmatched)
		}
		if _, err := FormOfDatacenter(element); err == nil && element == name && len(matched) != 1 {
			t.Errorf("%q is not itself", element)
		}
	})
}
