package placement

import (
	"cmp"
	_ "embed" // the names of guest systems
	"fmt"
	"slices"
	"strings"

	"vzones/vcenter/inventory"
)

// instanceType has the vSphere CPI's form, so that the label keeps its meaning when vzones takes over.
func instanceType(m *inventory.VM) string {
	return formatInstanceType(m, cmp.Or(guestOSes[m.GuestID], unknownOS))
}

func knownInstanceType(m *inventory.VM) string {
	if m.CPUs <= 0 || m.MemoryMB <= 0 || m.GuestID == "" {
		return ""
	}
	return instanceType(m)
}

// formerInstanceType is the type's name in the vSphere CPI before 1.37, or empty if it is equal.
func formerInstanceType(m *inventory.VM) string {
	if knownInstanceType(m) == "" || !slices.Contains(namedIn137, m.GuestID) {
		return ""
	}
	return formatInstanceType(m, unknownOS)
}

func formatInstanceType(m *inventory.VM, os string) string {
	return fmt.Sprintf("vsphere-vm.cpu-%d.mem-%dgb.os-%s", m.CPUs, m.MemoryMB/1024, os)
}

const unknownOS = "unknown"

// guestOSes maps guest identifiers to the vSphere CPI's short names.
var guestOSes = func() map[string]string {
	names := map[string]string{}
	for line := range strings.Lines(guestOSTable) {
		name, ids, _ := strings.Cut(strings.TrimSpace(line), " ")
		for id := range strings.FieldsSeq(ids) {
			if name != "#" {
				names[id] = name
			}
		}
	}
	return names
}()

//go:embed guestos.txt
var guestOSTable string

// namedIn137 are guest identifiers that the vSphere CPI names since 1.37. Identifiers that get a name later
// belong here too, because the label of running Nodes must not change.
var namedIn137 = []string{"rhel8_64Guest", "rhel9_64Guest", "rhel10_64Guest"}
