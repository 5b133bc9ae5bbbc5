package vcenter

import (
	"vzones/config"
	"vzones/vcenter/watch"
)

// A target is what an actor has to follow, as it is configured at a time. It is never
// changed.
type target struct {
	cfg config.VCenter
	// tags reports whether tags are read, groups whether host groups are, and domains
	// whether fault domains are.
	tags, groups, domains bool
	// tagRequirements are the tags that are read.
	tagRequirements watch.TagRequirements
}

func newTarget(cfg *config.VCenter, requirements Requirements) *target {
	return &target{
		cfg: *cfg, tags: requirements.Tags, groups: requirements.HostGroups, domains: requirements.FaultDomains,
		tagRequirements: watch.TagRequirements{Categories: requirements.Categories, VolumeCategories: requirements.VolumeCategories, Paths: requirements.Paths},
	}
}

// needsRestart reports whether a watch for another target does not serve this one, where
// their configurations have this difference. Other credentials are tried beside the watch,
// and the families of addresses concern no vCenter.
func (t *target) needsRestart(before *target, d config.VCenterDifference) bool {
	d.Credentials, d.IPFamilies = false, false
	return d != config.VCenterDifference{Name: d.Name} ||
		before.tags != t.tags || before.groups != t.groups || before.domains != t.domains
}
