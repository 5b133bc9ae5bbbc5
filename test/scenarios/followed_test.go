package scenarios

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// followedVariable has other scenarios played with index: followed than the list, by
// their names with commas between them.
const followedVariable = "VZONES_FOLLOWED"

// inBothModes are the scenarios that also hold with index: followed. They are about
// how machines are found, kept and lost.
var inBothModes = []string{
	"absence-is-confirmed-by-a-search",
	"ambiguous-across-vcenters",
	"both-byte-orders-and-equal-moids",
	"daemon-restart-keeps-nodes",
	"datacenters-by-reference-and-pattern",
	"destroyed-is-gone-within-15-seconds",
	"destroyed-only-after-every-vcenter-answered",
	"host-moves-to-another-cluster",
	"identity-in-order",
	"inaccessible-machine-is-not-deleted",
	"known-machine-is-kept-on-the-node",
	"machine-outside-from-the-start",
	"moved-out-of-the-datacenters",
	"moves-between-configured-datacenters",
	"moves-to-another-vcenter",
	"node-without-uuid",
	"one-vcenter-hangs-from-the-start",
	"one-vcenter-under-two-names",
	"powered-on-one-of-several",
	"recreated-node-same-name-new-uuid",
	"recreated-node-while-the-old-machine-is-there",
	"second-machine-in-a-slower-vcenter",
	"sessions-ended-again-and-again",
	"stretched-cluster-on-host-groups",
	"template-is-no-machine",
	"two-machines-of-one-uuid",
	"vcenter-restarted-with-changed-inventory",
	"vm-moves-before-its-node-joins",
}

// TestScenariosFollowed plays some of the files with index: followed in each
// configuration.
func TestScenariosFollowed(t *testing.T) {
	names := inBothModes
	if some := os.Getenv(followedVariable); some != "" {
		names = strings.Split(some, ",")
	}
	all := load(t)
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *Scenario) bool { return s.Name == name })
		if i < 0 {
			t.Errorf("there is no scenario %q", name)
			continue
		}
		scenario := *all[i]
		scenario.Followed = true
		if scenario.config.parts == nil {
			t.Errorf("%s: its configuration is a whole file, which says nothing of index", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := play(t, &scenario); err != nil {
				t.Errorf("%s\n\n%v", scenario.Story, err)
			}
		})
	}
}
