package world

import (
	"vzones/provider/report"
	"vzones/vcenter/inventory"
)

// NotInitialized is the status of a Node that has everything but the daemon's initialization.
const NotInitialized = "NotInitialized"

// OffProblem returns the reason and the text of the problem of a Node that is not ready and whose VM is off.
// Otherwise both are "".
func (l *Look) OffProblem() (reason, text string) {
	if !l.Off {
		return "", ""
	}
	text = "its VM is off"
	if m := l.Place.VM; m != nil {
		text = m.Ref.Located(m.InventoryPath) + " is off"
	}
	return report.OutcomeOfError(inventory.ErrPoweredOff).Event, text
}
