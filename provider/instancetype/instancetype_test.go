package instancetype

import (
	"testing"

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
		if got := Of(&inventory.Machine{CPUs: c.cpus, MemoryMB: c.memoryMB, GuestID: c.guest}); got != c.want {
			t.Errorf("%d CPUs, %d MB, %q: %s, want %s", c.cpus, c.memoryMB, c.guest, got, c.want)
		}
	}
}

// TestGuestOSes: each name can be a part of a label's value.
func TestGuestOSes(t *testing.T) {
	if len(guestOSes) != 151 {
		t.Errorf("the table has %d identifiers, want 151", len(guestOSes))
	}
	for id := range guestOSes {
		for _, problem := range validation.IsValidLabelValue(Of(&inventory.Machine{CPUs: 128, MemoryMB: 6 << 20, GuestID: id})) {
			t.Errorf("%s: %s", id, problem)
		}
	}
}
