package main

import (
	"time"

	cliflag "k8s.io/component-base/cli/flag"
)

// flags are the daemon's own, beside the framework's.
type flags struct {
	tagRefresh time.Duration
}

func (f *flags) sets() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	sets.FlagSet("vsphere").DurationVar(&f.tagRefresh, "tag-refresh", 30*time.Second,
		"Time between two readings of the tags above the Nodes' machines, which vCenter does not announce. "+
			"Everything else is seen when it happens.")
	return sets
}
