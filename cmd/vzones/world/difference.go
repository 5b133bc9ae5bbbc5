package world

import (
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology/quote"
)

// DifferenceReasons returns the reasons of differences, the worst first.
func DifferenceReasons() []string {
	return []string{plan.ReasonDrift, report.ConditionUnwritten, plan.ReasonTypeDrift}
}

// DifferenceReason names a difference in a word, as the reason of the daemon's Events does.
func DifferenceReason(d *plan.Difference) string {
	switch {
	case d.Label == plan.LabelType:
		return plan.ReasonTypeDrift
	case d.Missing:
		return report.ConditionUnwritten
	}
	return plan.ReasonDrift
}

// DifferenceText says how a label of a Node differs from its place.
func DifferenceText(d *plan.Difference) string {
	if d.Missing {
		return "label " + d.Label + " is missing: " + d.Source + " says " + quote.Value(d.Want)
	}
	return d.Text()
}
