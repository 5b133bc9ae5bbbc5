package instancetype

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
)

// incumbentName is the vSphere CPI's name of a guest operating system.
type incumbentName struct {
	name string
	// recent says that the name is there since 1.37 only.
	recent bool
}

// incumbentNames reads the CPI's names by identifier.
func incumbentNames(t *testing.T) map[string]incumbentName {
	t.Helper()
	data, err := os.ReadFile("testdata/guest-os.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]incumbentName{}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		recent := words[0] == "since-1.37"
		if recent {
			words = words[1:]
		}
		for _, id := range words[1:] {
			names[id] = incumbentName{words[0], recent}
		}
	}
	return names
}

// TestGuestOSesAreTheIncumbents: each identifier that vSphere has is named as the CPI
// names it, and what that does not know is unknown here too.
func TestGuestOSesAreTheIncumbents(t *testing.T) {
	names := incumbentNames(t)
	all := types.VirtualMachineGuestOsIdentifier("").Strings()
	if len(all) < 210 || len(names) != 151 {
		t.Fatalf("%d identifiers, %d of them with a name", len(all), len(names))
	}
	for id := range names {
		if !slices.Contains(all, id) {
			t.Errorf("vSphere has no %s", id)
		}
	}
	for _, id := range all {
		want, former := names[id], ""
		switch {
		case want.name == "":
			want.name = "unknown"
		case want.recent:
			former = "vsphere-vm.cpu-4.mem-8gb.os-unknown"
		}
		m := &inventory.Machine{CPUs: 4, MemoryMB: 8192, GuestID: id}
		if got := IfKnown(m); got != "vsphere-vm.cpu-4.mem-8gb.os-"+want.name {
			t.Errorf("%s: %s, want %s", id, got, want.name)
		}
		if got := Former(m); got != former {
			t.Errorf("%s: was %q, want %q", id, got, former)
		}
	}
}

// TestFormerTypeNeedsAWholeConfiguration, as the type itself does.
func TestFormerTypeNeedsAWholeConfiguration(t *testing.T) {
	for _, m := range []inventory.Machine{{GuestID: "rhel9_64Guest"}, {CPUs: 1, GuestID: "rhel9_64Guest"}, {CPUs: 1, MemoryMB: 1}} {
		if got := Former(&m); got != "" {
			t.Errorf("%+v: %s", m, got)
		}
	}
}
