package vcenter

import (
	"fmt"
	"slices"
	"testing"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/vcenter/inventory"
)

// TestTagsAreKnownOnceTheyWereRead at the current address.
func TestTagsAreKnownOnceTheyWereRead(t *testing.T) {
	t.Parallel()
	opts := quick
	opts.Categories = []string{"region", "zone"}
	var east config.VCenter
	w := run(t, twoVCenters, opts, func(_ *fleet.Fleet, cfgs []config.VCenter) {
		east = cfgs[0]
		cfgs[0].Server, cfgs[0].Port = "127.0.0.1", 1 // Nothing listens here.
	})
	w.reading("west", TagsRead)
	w.reading("east", TagsNotRead)
	apply := func(tags bool) {
		requirements := opts.Requirements
		requirements.Tags = tags
		w.fleet.Apply(w.cfgs, requirements)
	}
	apply(false)
	w.reading("east", TagsRead) // Tags are not required.
	apply(true)
	w.reading("east", TagsNotRead)
	away := w.cfgs[0]
	w.cfgs[0] = east
	apply(true)
	w.reading("east", TagsRead)
	w.cfgs[0] = away
	apply(true)
	w.reading("east", TagsNotRead)
}

// reading waits for the result of a vCenter's last read of tags.
func (w *world) reading(name string, want TagReading) {
	w.Helper()
	w.until(name+" is "+fmt.Sprint(want), func([]inventory.State) bool {
		return slices.ContainsFunc(w.fleet.Health(), func(h Health) bool { return h.VCenter == name && h.Tags == want })
	})
}
