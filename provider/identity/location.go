package identity

import (
	"strings"

	"vzones/topology"
)

// FormatLocation returns the value of the annotation keys.Machine.
func FormatLocation(machine topology.Ref) string { return machine.VCenter + "/" + machine.ID }

const (
	// locationMax is longer than a name of a vCenter's entry and a managed object ID, and
	// instanceMax than a vCenter's own UUID.
	locationMax, instanceMax = 512, 64
	// objectIDMax is longer than a managed object ID, such as vm-1234567.
	objectIDMax = 40
)

// ParseLocation is its reverse. What it cannot read is zero, such as what a kubelet made up.
// A vCenter's name may have slashes, a managed object ID has none.
func ParseLocation(s string) topology.Ref {
	i := strings.LastIndexByte(s, '/')
	if i <= 0 || len(s) > locationMax || !isObjectID(s[i+1:]) {
		return topology.Ref{}
	}
	return topology.Ref{VCenter: s[:i], Type: "VirtualMachine", ID: s[i+1:]}
}

// isObjectID reports whether a text can be a machine's managed object ID. vSphere does not
// say what these look like. vCenters call machines vm- and a number, and all their objects
// by letters, digits and dashes.
func isObjectID(s string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
	}
	return s != "" && len(s) <= objectIDMax && !strings.ContainsFunc(s, odd)
}

// parseInstance returns a vCenter's own UUID as an annotation has it, "" if it cannot be one.
func parseInstance(s string) string {
	if len(s) > instanceMax {
		return ""
	}
	return s
}
