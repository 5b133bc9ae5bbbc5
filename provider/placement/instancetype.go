package placement

import (
	"cmp"
	_ "embed" // the names of guest systems
	"fmt"
	"slices"
	"strings"

	"vzones/vcenter/inventory"
)

// instanceType returns the instance type of a machine in the vSphere CPI's form, so that the label
// keeps its meaning when vzones takes over a cluster.
func instanceType(m *inventory.Machine) string {
	return formatInstanceType(m, cmp.Or(guestOSes[m.GuestID], unknownOS))
}

// knownInstanceType returns the instance type, empty if the machine's configuration does not say all
// of it. The label of a running Node is compared with that.
func knownInstanceType(m *inventory.Machine) string {
	if m.CPUs <= 0 || m.MemoryMB <= 0 || m.GuestID == "" {
		return ""
	}
	return instanceType(m)
}

// formerInstanceType returns what the vSphere CPI wrote before its 1.37 in place of knownInstanceType, empty
// where that is the same. A running Node may keep it.
func formerInstanceType(m *inventory.Machine) string {
	if knownInstanceType(m) == "" || !slices.Contains(namedIn137, m.GuestID) {
		return ""
	}
	return formatInstanceType(m, unknownOS)
}

func formatInstanceType(m *inventory.Machine, os string) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", m.CPUs, m.MemoryMB/1024, os)
}

// unknownOS stands for guest systems that have no name.
const unknownOS = "unknown"

// guestOSes has the incumbent's short names of guest systems by their identifiers.
var guestOSes = func() map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(guestOSTable) {
		name, ids, _ := strings.Cut(strings.TrimSpace(line), " ")
		for id := range strings.FieldsSeq(ids) {
			if name != "#" {
				all[id] = name
			}
		}
	}
	return all
}()

//go:embed guestos.txt
var guestOSTable string

// namedIn137 are the identifiers that the incumbent has a name for since its 1.37.
// Whatever gets a name later needs the same care: it must not change on running Nodes.
var namedIn137 = []string{"rhel8_64Guest", "rhel9_64Guest", "rhel10_64Guest"}
