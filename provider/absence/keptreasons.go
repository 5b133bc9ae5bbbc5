package absence

import (
	"errors"
	"strings"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// ReasonNotDeleted is the reason of the Event that says why a Node is not deleted.
const ReasonNotDeleted = "NodeNotDeleted"

// kept are the reasons for which Nodes are not deleted that are not ready and whose
// machines are not found, in the order in which an error is compared with them. The
// last is for whatever is none of them.
var kept = []struct {
	err error
	// name is the value of the metric's label.
	name string
}{
	{errDisabled, "deletion_disabled"},
	{ErrConfirming, "being_confirmed"},
	{ErrSearchFailed, "search_failed"},
	{ErrStillThere, "found_by_search"},
	{inventory.ErrOutside, "outside_datacenters"},
	{inventory.ErrUnreachable, "vcenter_unreachable"},
	{inventory.ErrUnreadable, "machine_unreadable"},
	{topology.ErrUnknown, "unknown"},
}

// KeptBy returns the reason that an error of Confirm stands for, empty if the Node is not kept: its
// machine exists, the framework does not ask, or it may be deleted.
func KeptBy(err error) string {
	if err == nil || errors.Is(err, errExists) {
		return ""
	}
	for _, k := range kept {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return kept[len(kept)-1].name
}

// IsSearching reports whether an error of Confirm says that nothing is wrong but that a search is
// under way.
func IsSearching(err error) bool {
	return errors.Is(err, ErrConfirming) && !errors.Is(err, ErrSearchFailed)
}

// KeptKey returns the same key for errors that say the same to a person. That a search fails is
// the same for all machines.
func KeptKey(err error) string {
	reason := KeptBy(err)
	if errors.Is(err, ErrSearchFailed) {
		reason = KeptBy(ErrSearchFailed)
	}
	return reason + " " + strings.Join(inventory.UnreachableIn(err), " ")
}

// KeptHelp explains the reasons in a line.
const KeptHelp = "deletion_disabled (nodes.skipDeletion), being_confirmed (every vCenter is being searched), search_failed (a vCenter could not be), " +
	"found_by_search, outside_datacenters, vcenter_unreachable, machine_unreadable (one that may be it), unknown (something else is)"

// KeptReasons returns all reasons.
func KeptReasons() []string {
	names := make([]string, len(kept))
	for i, k := range kept {
		names[i] = k.name
	}
	return names
}
