package model

import "vzones/cmd/vzones/finding"

// A Kind is what a mark says. The set is closed, and its values must not change.
type Kind string

// The kinds.
const (
	// Unread: a vCenter could not be read.
	Unread Kind = "unread"
	// Incomplete: some of a vCenter's objects or tags could not be read.
	Incomplete Kind = "incomplete"
	// Unplaced: it is not known where a Node is, or it has no region or zone.
	Unplaced Kind = "unplaced"
	// Drift: labels of a Node are not those of its place.
	Drift Kind = "drift"
	// OtherProblem: something else is wrong with a Node, such as its addresses.
	OtherProblem Kind = "otherProblem"
	// Waits: a Node is not initialized yet.
	Waits Kind = "waits"
	// Untagged: a host or a whole cluster has no region or zone.
	Untagged Kind = "untagged"
	// Undecided: region or zone of a host is not known.
	Undecided Kind = "undecided"
	// OtherZone: a Node is in another zone than its host, because of tags on its resource pool or folder.
	OtherZone Kind = "otherZone"
	// SharedControlPlane: Nodes of the control plane share a host.
	SharedControlPlane Kind = "sharedControlPlane"
	// SharedHost: Nodes of one zone share a host.
	SharedHost Kind = "sharedHost"
	// OneZoneControlPlane: all Nodes of the control plane are in one of several zones.
	OneZoneControlPlane Kind = "oneZoneControlPlane"
	// Imbalance: a zone has far fewer Nodes than another one of its region.
	Imbalance Kind = "imbalance"
	// Disconnected: a host is not connected.
	Disconnected Kind = "disconnected"
	// Maintenance: a host is in maintenance mode.
	Maintenance Kind = "maintenance"
)

// Kinds returns all kinds, the worst first.
func Kinds() []Kind {
	return []Kind{
		Unread, Unplaced,
		Incomplete, Drift, OtherProblem, Untagged, Undecided, SharedControlPlane, OneZoneControlPlane, Imbalance, Disconnected,
		SharedHost, OtherZone, Waits, Maintenance,
	}
}

// Severity returns how bad a kind is.
func (k Kind) Severity() finding.Severity {
	switch k {
	case Unread, Unplaced:
		return finding.Error
	case SharedHost, OtherZone, Waits, Maintenance:
		return finding.Info
	}
	return finding.Warning
}

// Title says in a few words what a kind is, for a legend.
func (k Kind) Title() string {
	switch k {
	case Unread:
		return "vCenters that could not be read"
	case Incomplete:
		return "vCenters that were read in part"
	case Unplaced:
		return "Nodes without a place"
	case Drift:
		return "Nodes whose labels differ"
	case OtherProblem:
		return "Nodes with another problem"
	case Waits:
		return "Nodes that are not initialized"
	case Untagged:
		return "hosts and clusters without region or zone"
	case Undecided:
		return "hosts and clusters whose place is unknown"
	case OtherZone:
		return "Nodes in another zone than their host"
	case SharedControlPlane:
		return "hosts shared by control-plane Nodes"
	case SharedHost:
		return "hosts shared by Nodes of one zone"
	case OneZoneControlPlane:
		return "control planes in one zone"
	case Imbalance:
		return "zones with few Nodes"
	case Disconnected:
		return "hosts that are not connected"
	case Maintenance:
		return "hosts in maintenance mode"
	}
	return string(k)
}

// A Mark says what an operator should know of an object.
type Mark struct {
	Kind     Kind             `json:"kind"`
	Severity finding.Severity `json:"severity"`
	// Text is for a person, in one line. Others chose the names in it.
	Text string `json:"text"`
}

// IsProblem reports whether something should be done about it.
func (m Mark) IsProblem() bool { return m.Severity != finding.Info }

func mark(kind Kind, text string) Mark {
	return Mark{Kind: kind, Severity: kind.Severity(), Text: text}
}
