package nodeinfo

import (
	"strings"
	"testing"

	"vzones/topology"
)

func TestLocationForms(t *testing.T) {
	for s, want := range map[string]topology.Ref{
		"east/vm-1":    {VCenter: "east", Type: "VirtualMachine", ID: "vm-1"},
		"a/b/vm-1":     {VCenter: "a/b", Type: "VirtualMachine", ID: "vm-1"},
		"10.0.0.1/vm1": {VCenter: "10.0.0.1", Type: "VirtualMachine", ID: "vm1"},
		"":             {}, "/": {}, "east": {}, "east/": {}, "/vm-1": {},
		// What a kubelet may have made up; that there is no domain-c1 is for vCenter to say.
		"east/domain-c1": {VCenter: "east", Type: "VirtualMachine", ID: "domain-c1"},
		"east/vm 1":      {}, "east/<vm-1>": {}, "east/vm-1\n": {}, "east/vm-1\x00": {}, "east/vm-é": {},
		"east/" + strings.Repeat("1", objectIDMax):   {VCenter: "east", Type: "VirtualMachine", ID: strings.Repeat("1", objectIDMax)},
		"east/" + strings.Repeat("1", objectIDMax+1): {},
		strings.Repeat("e", locationMax-5) + "/vm-1": {VCenter: strings.Repeat("e", locationMax-5), Type: "VirtualMachine", ID: "vm-1"},
		strings.Repeat("e", locationMax-4) + "/vm-1": {},
		strings.Repeat("east/", 100_000) + "vm-1":    {},
	} {
		if got := ParseLocation(s); got != want {
			t.Errorf("%q is %+v", s, got)
		}
	}
}

// FuzzLocation: from a location to a machine and back, and the other way round.
func FuzzLocation(f *testing.F) {
	for _, s := range []string{"east/vm-1", "a/b/vm-2", "//vm-3", "east/", "/vm-4", "", "é/vm 5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref := ParseLocation(s)
		if ref == (topology.Ref{}) {
			return
		}
		if ref.VCenter == "" || ref.ID == "" || ref.Type != "VirtualMachine" {
			t.Errorf("%q is %+v", s, ref)
		}
		if got := FormatLocation(ref); got != s {
			t.Errorf("%q became %q", s, got)
		}
		if again := ParseLocation(FormatLocation(ref)); again != ref {
			t.Errorf("%+v became %+v", ref, again)
		}
	})
}
