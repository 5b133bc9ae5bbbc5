package load

import (
	"slices"
	"strings"
	"testing"

	"vzones/config"
)

// datacentersOfTest are the datacenters of a vCenter, with vSphere's names.
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
		ids     string // without datacenter-
	}{
		{"dc1", "2 4"}, // in folders too
		{"DC1", ""},
		{"dc", ""},
		// vSphere shows the slash of a name unescaped.
		{"a/b", "5"},
		{"a%2fb", "5"},
		{"100%", "9"},
		{`c:\x`, "8"},
		{"dc[1]", "2 4 6"}, // the name itself, and what the pattern fits
		{"dc*", "2 3 4 6"},
		{"dc?", "2 3 4"},
		{"dc[2-9]", "3"},
		{"dc[^2-9]", "2 4"},
		{`dc\[1\]*`, "6"},
		{"*", "2 3 4 5 6 7 8 9 10 11"},
		{"a?b", ""}, // no * or ? stands for a slash
		{"x*", ""},
		{"/dc1", "2"},
		{"dc1/", "2"},
		{"./dc1", "2"},
		{"prod/dc2", "3"},
		{"//prod//dc2//", "3"},
		{"/prod/dc1", ""},
		{"/prod", ""},
		{"/odd/dc[1]", "6"},
		{"/odd/100%", "9"},
		{"/*", "2 5"},
		{"/dc*", "2"},
		{"prod/*", "3"},
		{"/prod/*/dc1", "4"},
		{"/p*/dc?", "3"},
		{"/prod/...", "3 4"},
		{"/...", "2 3 4 5 6 7 8 9 10 11"},
		// Without a slash it is no wildcard in govmomi either.
		{"...", "11"},
		{"/", ""},
		{"Datacenter:datacenter-3", "3"},
		{"Datacenter:datacenter-33", ""},
		{"Datacenter:x", "10"},
		{"Folder:group-d1", ""},
		{"datacenter-3", "3"},
		{"datacenter-2", "7"}, // the name comes first
		{"datacenter-", ""},
	} {
		if err := config.CheckDatacenter(c.element); err != nil {
			t.Errorf("element %q was rejected: %v", c.element, err)
		}
		matched, unmatched := config.MatchDatacenters([]string{c.element}, datacentersOfTest)
		var ids []string
		for _, d := range matched {
			ids = append(ids, strings.TrimPrefix(d.ID, "datacenter-"))
		}
		if got := strings.Join(ids, " "); got != c.ids {
			t.Errorf("%s means %s, want %s", c.element, got, c.ids)
		}
		if (len(matched) == 0) != slices.Equal(unmatched, []string{c.element}) {
			t.Errorf("%s means %v, and %v is unmatched", c.element, ids, unmatched)
		}
	}
}

// TestMatchDatacentersTogether checks that several elements select each datacenter once, in their
// order, and that elements without a match are reported.
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

// FuzzMatchDatacenters checks that every valid name selects its datacenter.
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
		if err := config.CheckDatacenter(element); err == nil && element == name && len(matched) != 1 {
			t.Errorf("%q is not itself", element)
		}
	})
}
