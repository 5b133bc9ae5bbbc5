package check

import (
	"slices"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/world"
)

// driverKinds are the kinds that matter to the vSphere CSI driver alone, zonedKinds those of them that
// matter only where it reports zones.
var (
	driverKinds = append([]*finding.Kind{finding.DiskUUIDOff}, zonedKinds...)
	zonedKinds  = []*finding.Kind{
		finding.TagOrder, finding.OffComputePath, finding.NamesSpanVCenters, finding.NameOfBoth, finding.TagWithoutHosts, finding.NotSeenByCSI,
	}
)

// withoutDriver leaves out what matters to the CSI driver alone, if the cluster does not have it or it does
// not report zones. A zone in several vCenters stays: to the scheduler it is one, which may be intended.
func (f *facts) withoutDriver(found []finding.Finding) []finding.Finding {
	var out []*finding.Kind
	switch f.csi {
	case world.CSINone:
		out = driverKinds
	case world.CSIAnywhere:
		out = zonedKinds
	default:
		return found
	}
	found = slices.DeleteFunc(found, func(one finding.Finding) bool { return slices.Contains(out, one.Kind) })
	for i := range found {
		if found[i].Kind == finding.ZoneSpansVCenters {
			found[i].Kind = finding.ZoneOfVCenters
		}
	}
	return found
}
