package vcenter

import "vzones/config"

// RequirementsOf returns what the placement by a configuration needs of the vCenters.
func RequirementsOf(cfg *config.Config) Requirements {
	policy := &cfg.Topology.Policy
	categories := policy.Categories()
	return Requirements{
		Tags: len(categories) > 0, Categories: categories, Paths: policy.TagPaths(),
		HostGroups: policy.HostGroups(), FaultDomains: policy.FaultDomains(),
	}
}
