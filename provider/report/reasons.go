// Package report describes problems of Nodes and vCenters in Events, in the condition
// nodeinfo.TopologyReady and, as outcomes, in metrics.
package report

import (
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/internal/quote"
	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// An Outcome is the result for a Node, initialized or not.
type Outcome struct {
	err  error
	Name string
	// Event is the reason of the Event about an uninitialized Node.
	Event string
	// Advice is empty if the error's text contains the advice, or if the advice depends on the error's cause.
	Advice string
}

// Names of outcomes without an error.
const (
	Placed  = "placed"
	Foreign = "unmanaged"
)

// errorOutcomes are matched in order. The last entry covers every other error.
var errorOutcomes = []Outcome{
	{nodeinfo.ErrContradiction, "provider_id_mismatch", "ProviderIDMismatch", ""},
	{placement.ErrShared, "vm_shared", "VMShared", ""},
	{nodeinfo.ErrNoProviderID, "provider_id_missing", "ProviderIDMissing", ""},
	{nodeinfo.ErrNoUUID, "system_uuid_missing", "SystemUUIDMissing", ""},
	{topology.ErrMissing, "topology_missing", "TopologyMissing", ""},
	{topology.ErrInvalid, "topology_invalid", "TopologyInvalid", ""},
	{topology.ErrAmbiguous, "ambiguous", "Ambiguous", ""},
	{topology.ErrAbsent, "vm_not_found", "VMNotFound", ""},
	{inventory.ErrNotShown, "vm_not_found", "VMNotFound", ""},
	{inventory.ErrPoweredOff, "vm_powered_off", "VMPoweredOff", ""},
	{addresses.ErrClaimed, "address_conflict", "AddressConflict", ""},
	{addresses.ErrNone, "address_missing", "AddressMissing", ""},
	{inventory.ErrOutside, "vm_outside_datacenters", "VMOutsideDatacenters", ""},
	{inventory.ErrSharedInstance, "vcenter_instance_shared", "VCenterInstanceShared", ""},
	{inventory.CauseCredentials, "credentials_missing", "CredentialsMissing", ""},
	{inventory.ErrLogin, "credentials_rejected", "CredentialsRejected", ""},
	{inventory.CauseUntrusted, "certificate_untrusted", "CertificateUntrusted", ""},
	{inventory.ErrUnreachable, "vcenter_unreachable", "VCenterUnreachable", ""},
	{inventory.ErrUnreadable, "vm_unreadable", "VMUnreadable", "reconnect its host or datastore, or remove it from the inventory if it is orphaned"},
	{topology.ErrNoCategory, "category_not_found", ReasonCategoryNotFound, ""},
	{topology.ErrUnknown, "unknown", "VCenterDataUnavailable", ""},
}

// ReasonAddressOmitted is the reason of the Event about addresses that a kubelet's --node-ip excludes.
const ReasonAddressOmitted = "AddressOmitted"

// ReasonCategoryNotFound is also the reason of the Event on the daemon's Pod.
const ReasonCategoryNotFound = "CategoryNotFound"

var vcenterErrors = []error{inventory.CauseCredentials, inventory.ErrLogin, inventory.CauseUntrusted, inventory.ErrUnreachable}

var unknownErrors = []error{inventory.ErrOutside, inventory.ErrLogin, inventory.CauseUntrusted, inventory.ErrUnreachable, inventory.ErrUnreadable, topology.ErrUnknown}

// EventText returns the message of an Event about an error.
func EventText(err error) string {
	o := OutcomeOfError(err)
	if slices.Contains(vcenterErrors, o.err) {
		o.Advice = inventory.FirstUnreachable(err).Cause.Advice()
	}
	return quote.NoteWith(err.Error(), o.Advice)
}

// OutcomeName returns the name of a decision's outcome.
func OutcomeName(n *v1.Node, d *placement.Decision) string {
	switch {
	case d.Err == nil:
		return Placed
	case WasNeverManaged(n, d):
		return Foreign
	}
	return OutcomeOfError(d.Err).Name
}

// OutcomeOfError returns the outcome of an error.
func OutcomeOfError(err error) Outcome {
	// If several vCenters cannot be read, the Node's own vCenter comes first.
	var first error
	if u := inventory.FirstUnreachable(err); u != nil {
		first = u
	}
	for _, o := range errorOutcomes {
		cause := err
		if slices.Contains(vcenterErrors, o.err) {
			cause = first
		}
		if errors.Is(cause, o.err) {
			return o
		}
	}
	return errorOutcomes[len(errorOutcomes)-1]
}

// ProblemOf returns the problem of an error, with the same key for all errors of an unreadable vCenter.
func ProblemOf(err error) Problem {
	o := OutcomeOfError(err)
	p := Problem{Key: err.Error(), Reason: o.Event, Text: EventText(err), Detail: err.Error(), Unknown: slices.Contains(unknownErrors, o.err)}
	if vcenters := inventory.UnreachableIn(err); len(vcenters) > 0 {
		p.Key = strings.Join(vcenters, " ")
		p.Cause = o.Event
	}
	return p
}

// WasNeverManaged reports whether a Node has no provider ID and no taint, and its VM was never found.
func WasNeverManaged(node *v1.Node, d *placement.Decision) bool {
	err := d.VMErr
	return (errors.Is(err, topology.ErrAbsent) || errors.Is(err, nodeinfo.ErrNoUUID)) && node.Spec.ProviderID == "" && !nodeinfo.IsUninitialized(node) && !d.WasFound
}

// Outcomes returns the names of all outcomes.
func Outcomes() []string {
	names := []string{Placed, Foreign}
	for _, o := range errorOutcomes {
		names = append(names, o.Name)
	}
	return names
}

// EventReasons returns the reasons of Events about Nodes.
func EventReasons() []string {
	var reasons []string
	for _, o := range errorOutcomes {
		reasons = append(reasons, o.Event)
	}
	return append(slices.Compact(reasons), placement.ReasonNotDeleted)
}

// OutcomesHelp describes the outcomes.
const OutcomesHelp = "placed; unmanaged (another provider's, or not in vSphere and without the taint); topology_missing (a required tag), topology_invalid (no label value), " +
	"ambiguous (several VMs or tags), provider_id_mismatch (the system UUID belongs to another VM), vm_shared (another Node has the same VM), provider_id_missing (the Node was registered without the taint), system_uuid_missing (nodes.matchByName is false), vm_not_found, vm_powered_off (the only VM is off and the Node runs), address_conflict (another Node has the address), address_missing, vm_outside_datacenters, vcenter_instance_shared (two addresses belong to one vCenter), credentials_missing (or unreadable), credentials_rejected, certificate_untrusted, vcenter_unreachable, vm_unreadable (inaccessible or orphaned), category_not_found (no vCenter has a required tag category), unknown (a vCenter's data is unavailable)"
