package placement

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"vzones/vcenter/inventory"
)

func TestInstanceType(t *testing.T) {
	for _, c := range []struct {
		cpus, memoryMB int32
		guest, want    string
	}{
		{4, 8192, "ubuntu64Guest", "vsphere-vm.cpu-4.mem-8gb.os-ubuntu"},
		{2, 4096, "vmwarePhoton64Guest", "vsphere-vm.cpu-2.mem-4gb.os-photon"},
		{16, 65536, "rhel7_64Guest", "vsphere-vm.cpu-16.mem-64gb.os-rhel7"},
		{2, 4095, "centos64Guest", "vsphere-vm.cpu-2.mem-3gb.os-centos64"},
		{2, 1000, "fedora64Guest", "vsphere-vm.cpu-2.mem-0gb.os-fedora"},
		{8, 16384, "windows9Server64Guest", "vsphere-vm.cpu-8.mem-16gb.os-win10server"},
		{8, 16384, "other3xLinux64Guest", "vsphere-vm.cpu-8.mem-16gb.os-linux"},
		{8, 16384, "eComStationGuest", "vsphere-vm.cpu-8.mem-16gb.os-eComStation"},
		{8, 16384, "darwin16_64Guest", "vsphere-vm.cpu-8.mem-16gb.os-darwin"},
		{8, 16384, "rhel9_64Guest", "vsphere-vm.cpu-8.mem-16gb.os-rhel9"},
		{8, 16384, "debian12_64Guest", "vsphere-vm.cpu-8.mem-16gb.os-unknown"},
		{8, 16384, "UBUNTU64GUEST", "vsphere-vm.cpu-8.mem-16gb.os-unknown"},
		{0, 0, "", "vsphere-vm.cpu-0.mem-0gb.os-unknown"},
	} {
		if got := instanceType(&inventory.VM{CPUs: c.cpus, MemoryMB: c.memoryMB, GuestID: c.guest}); got != c.want {
			t.Errorf("%d CPUs, %d MB, %q: %s, want %s", c.cpus, c.memoryMB, c.guest, got, c.want)
		}
	}
}

// TestGuestOSes: each name is valid in the value of a label.
func TestGuestOSes(t *testing.T) {
	if len(guestOSes) != 151 {
		t.Errorf("the table has %d identifiers, want 151", len(guestOSes))
	}
	for id := range guestOSes {
		for _, problem := range validation.IsValidLabelValue(instanceType(&inventory.VM{CPUs: 128, MemoryMB: 6 << 20, GuestID: id})) {
			t.Errorf("%s: %s", id, problem)
		}
	}
}

// incumbentName is the vSphere CPI's name of a guest operating system.
type incumbentName struct {
	name string
	// recent reports whether the name is new in 1.37.
	recent bool
}

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

// TestGuestOSesAreTheIncumbents: each identifier in vSphere has the CPI's name, or is unknown if the CPI has
// none.
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
		m := &inventory.VM{CPUs: 4, MemoryMB: 8192, GuestID: id}
		if got := knownInstanceType(m); got != "vsphere-vm.cpu-4.mem-8gb.os-"+want.name {
			t.Errorf("%s: %s, want %s", id, got, want.name)
		}
		if got := formerInstanceType(m); got != former {
			t.Errorf("%s: was %q, want %q", id, got, former)
		}
	}
}

func TestFormerTypeNeedsAWholeConfiguration(t *testing.T) {
	for _, m := range []inventory.VM{{GuestID: "rhel9_64Guest"}, {CPUs: 1, GuestID: "rhel9_64Guest"}, {CPUs: 1, MemoryMB: 1}} {
		if got := formerInstanceType(&m); got != "" {
			t.Errorf("%+v: %s", m, got)
		}
	}
}
