package check

import (
	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/topology/quote"
)

// toolsStopped is guest.toolsRunningStatus while VMware Tools do not run. While they start it is
// another one.
const toolsStopped = "guestToolsNotRunning"

// toolsAreOff reports whether VMware Tools are known not to run in a machine that runs.
func toolsAreOff(m *survey.Machine) bool {
	return m.PoweredOn && m.Tools == toolsStopped
}

// machines finds what is wrong with the settings of Nodes' machines.
func (f *facts) machines() (found []finding.Finding) {
	for i := range f.nodes {
		n := &f.nodes[i]
		m := f.settings(n)
		if m == nil {
			continue
		}
		about := finding.Finding{VCenter: m.VCenter, Object: "Node " + n.name()}
		where := " in " + m.Located(m.Path)
		if m.DiskUUID != nil && !*m.DiskUUID {
			one := about
			one.Kind, one.Text, one.Short = finding.DiskUUIDOff, "disk.enableUUID is off"+where+", so that the CSI driver finds no disk there", "disk.enableUUID is off in their machines, so that the CSI driver finds no disk there"
			one.Command = line("govc", "vm.change", "-vm", m.Path, "-e", "disk.enableUUID=TRUE")
			found = append(found, one)
		}
		if toolsAreOff(m) {
			one := about
			one.Kind, one.Text, one.Short = finding.ToolsNotRunning, "VMware Tools do not run ("+quote.Plain(m.Tools)+")"+where, "VMware Tools do not run in their machines"
			found = append(found, one)
		}
	}
	return found
}
