package vcenter

import (
	"testing"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestTheSummaryShowsTheUUID of machines whose configuration could never be read, also
// where there are more of them than are followed at a time.
func TestTheSummaryShowsTheUUID(t *testing.T) {
	t.Parallel()
	const description = `
vcenters:
- name: east
  datacenters:
  - {name: dc, clusters: [{name: c, hosts: 1}], vms: [{name: ill, count: 25, unreadable: true}]}
`
	uuids := map[string]string{}
	w := run(t, description, slow, func(sim *fleet.Fleet, _ []config.VCenter) {
		for i, m := range sim.Machines() {
			uuids[m.Name] = identity(t, stranger).UUIDs[0].String()[:34] + string([]byte{'a' + byte(i%6), '0' + byte(i/6)})
			if err := sim.VCenter("east").SetSummaryUUID(m.Name, uuids[m.Name]); err != nil {
				t.Fatal(err)
			}
		}
	})
	nobody := identity(t, "99999999-2222-3333-4444-555555555555")
	w.fleet.Follow([]inventory.Identity{nobody})
	w.until("absence of a stranger", func(states []inventory.State) bool { return w.outcome(states, nobody, topology.ErrAbsent) })
	states := w.fleet.States()
	for name, uuid := range uuids {
		if id := identity(t, uuid); !w.outcome(states, id, topology.ErrUnknown, inventory.ErrUnreadable) {
			_, err := w.find(states, id)
			t.Errorf("%s: %v", name, err)
		}
	}
}
