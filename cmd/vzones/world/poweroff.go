package world

import (
	"vzones/provider/nodeinfo"
	"vzones/provider/report"
)

// NotInitialized is the status of a Node that has everything but the daemon's initialization.
const NotInitialized = "NotInitialized"

// OffProblem returns the reason and the text of the problem of an initialized Node that is not ready and whose VM is off.
// Otherwise both are "".
func (l *Look) OffProblem() (reason, text string) {
	err := l.Place.CheckPower(l.Node)
	if err == nil || nodeinfo.IsUninitialized(l.Node) {
		return "", ""
	}
	return report.OutcomeOfError(err).Event, report.EventText(err)
}
