package vcenter

import (
	"bytes"
	"slices"

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

// needsRestart reports whether a watch for another target does not serve this one: if
// another address is configured, other certificates are trusted, it has other machines or
// begins to read tags or what hosts belong to.
func (t *target) needsRestart(before *target) bool {
	return !sameAddress(&before.cfg, &t.cfg) || !sameTrust(&before.cfg, &t.cfg) || before.cfg.RoundTrips != t.cfg.RoundTrips ||
		!slices.Equal(before.cfg.Datacenters, t.cfg.Datacenters) || before.cfg.Followed != t.cfg.Followed ||
		before.tags != t.tags || before.groups != t.groups || before.domains != t.domains
}

// sameAddress reports whether a session that was opened for one of the two serves the other.
func sameAddress(a, b *config.VCenter) bool { return a.Server == b.Server && a.Port == b.Port }

func sameTrust(a, b *config.VCenter) bool {
	return a.Insecure == b.Insecure && bytes.Equal(a.CA, b.CA) && a.Thumbprint == b.Thumbprint
}
