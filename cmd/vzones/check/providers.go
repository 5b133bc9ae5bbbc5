package check

import (
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
)

// providerIDs finds the Nodes of VMs that have no provider ID, or that of another provider.
func (f *facts) providerIDs() (found []Finding) {
	for _, n := range f.all {
		switch err := nodeinfo.CheckProviderID(n.Node); {
		case n.otherProvider != "":
			one := n.about("VZ168", "its provider ID is "+quote.Value(n.Node.Spec.ProviderID)+", and a vCenter has a VM with its system UUID")
			one.Short = "their provider IDs begin with " + n.otherProvider + ", and vCenters have VMs with their system UUIDs"
			found = append(found, one)
		case err != nil && !n.Foreign && n.Place.MachineErr == nil:
			one := n.about("VZ167", quote.Line(err.Error()))
			one.HasAdvice, one.Short = true, "their kubelets run without --cloud-provider=external"
			one.Command = nodeinfo.TaintCommand(n.name(), "=true:NoSchedule")
			found = append(found, one)
		}
	}
	return found
}
