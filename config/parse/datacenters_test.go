package parse_test

import (
	"slices"
	"strings"
	"testing"

	"vzones/config"
)

// datacentersOfTest are those of a vCenter, as vSphere names them.
var datacentersOfTest = []config.Datacenter{
	{ID: "datacenter-2", Name: "dc1", Path: "/dc1"},
	{ID: "datacenter-3", Name: "dc2", Path: "/prod/dc2"},
	{ID: "datacenter-4", Name: "dc1", Path: "/prod/eu/dc1"},
	{ID: "datacenter-5", Name: "a%2fb", Path: "/a%2fb"},
	{ID: "datacenter-6", Name: "dc[1]", Path: "/odd/dc[1]"},
	{ID: "datacenter-7", Name: "datacenter-2", Path: "/odd/datacenter-2"},
	{ID: "datacenter-8", Name: `c:\x`, Path: `/odd/c:\x`},
	{ID: "datacenter-9", Name: "100%25", Path: "/odd/100%25"},
	{ID: "datacenter-10", Name: "Datacenter:x", Path: "/odd/Datacenter:x"},
	{ID: "datacenter-11", Name: "...", Path: "/dots/..."},
}

func TestMatchDatacenters(t *testing.T) {
	for _, c := range []struct {
		element string
		form    config.DatacenterForm
		ids     string // without datacenter-
	}{
		{"dc1", config.DatacenterName, "2 4"}, // in folders too
		{"DC1", config.DatacenterName, ""},
		{"dc", config.DatacenterName, ""},
		{"a/b", config.DatacenterPath, "5"}, // as vSphere shows it
		{"a%2fb", config.DatacenterName, "5"},
		{"100%", config.DatacenterName, "9"},
		{`c:\x`, config.DatacenterName, "8"},
		{"dc[1]", config.DatacenterNamePattern, "2 4 6"}, // the name itself, and what the pattern fits
		{"dc*", config.DatacenterNamePattern, "2 3 4 6"},
		{"dc?", config.DatacenterNamePattern, "2 3 4"},
		{"dc[2-9]", config.DatacenterNamePattern, "3"},
		{"dc[^2-9]", config.DatacenterNamePattern, "2 4"},
		{`dc\[1\]*`, config.DatacenterNamePattern, "6"},
		{"*", config.DatacenterNamePattern, "2 3 4 5 6 7 8 9 10 11"},
		{"a?b", config.DatacenterNamePattern, ""}, // no * or ? stands for a slash
		{"x*", config.DatacenterNamePattern, ""},
		{"/dc1", config.DatacenterPath, "2"},
		{"dc1/", config.DatacenterPath, "2"},
		{"./dc1", config.DatacenterPath, "2"},
		{"prod/dc2", config.DatacenterPath, "3"},
		{"//prod//dc2//", config.DatacenterPath, "3"},
		{"/prod/dc1", config.DatacenterPath, ""},
		{"/prod", config.DatacenterPath, ""},
		{"/odd/dc[1]", config.DatacenterPathPattern, "6"},
		{"/odd/100%", config.DatacenterPath, "9"},
		{"/*", config.DatacenterPathPattern, "2 5"},
		{"/dc*", config.DatacenterPathPattern, "2"},
		{"prod/*", config.DatacenterPathPattern, "3"},
		{"/prod/*/dc1", config.DatacenterPathPattern, "4"},
		{"/p*/dc?", config.DatacenterPathPattern, "3"},
		{"/prod/...", config.DatacenterPathPattern, "3 4"},
		{"/...", config.DatacenterPathPattern, "2 3 4 5 6 7 8 9 10 11"},
		{"...", config.DatacenterName, "11"}, // as in govmomi it is none without a slash
		{"/", config.DatacenterPath, ""},
		{"Datacenter:datacenter-3", config.DatacenterReference, "3"},
		{"Datacenter:datacenter-33", config.DatacenterReference, ""},
		{"Datacenter:x", config.DatacenterName, "10"},
		{"Folder:group-d1", config.DatacenterName, ""},
		{"datacenter-3", config.DatacenterNameOrID, "3"},
		{"datacenter-2", config.DatacenterNameOrID, "7"}, // the name comes first
		{"datacenter-", config.DatacenterName, ""},
	} {
		form, err := config.FormOfDatacenter(c.element)
		if err != nil || form != c.form {
			t.Errorf("%s is read as %v, %v, want %v", c.element, form, err, c.form)
		}
		matched, unmatched := config.MatchDatacenters([]string{c.element}, datacentersOfTest)
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
// order, and each that means none is reported.
func TestMatchDatacentersTogether(t *testing.T) {
	matched, unmatched := config.MatchDatacenters([]string{"x*", "/prod/dc2", "dc*", "Datacenter:datacenter-4", "gone"}, datacentersOfTest)
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
		all := []config.Datacenter{{ID: "datacenter-1", Name: name, Path: "/" + name}}
		matched, unmatched := config.MatchDatacenters([]string{element}, all)
		if len(matched)+len(unmatched) != 1 {
			t.Errorf("%q means %v, and %v is unmatched", element, matched, unmatched)
		}
		if _, err := config.FormOfDatacenter(element); err == nil && element == name && len(matched) != 1 {
			t.Errorf("%q is not itself", element)
		}
	})
}
