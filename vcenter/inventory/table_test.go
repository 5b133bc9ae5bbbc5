package inventory_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestTable varies the home, the other matches, a third vCenter that can be read or not, running and joining Nodes, and
// the evidence that another VM is the same VM.
func TestTable(t *testing.T) {
	const nobody, home, other = "unknown", "home", "other"
	u := oracleUUID
	for _, at := range []string{"none", "on", "renamed", "names swapped", "failing", "off", "power unknown", "unreadable", "hidden", "unasked", "there", "gone", "of another UUID", "removed", "in another vCenter of that name"} {
		for _, others := range []struct{ on, off int }{{}, {on: 1}, {on: 2}, {off: 1}, {off: 2}, {on: 1, off: 1}} {
			for _, third := range []string{"read", "failing", "not read yet"} {
				for _, node := range []string{"runs, no evidence", "runs, same instance UUID", "runs, same address", "runs, outlived its home", "joins"} {
					joins := node == "joins"
					east, west, north := stateOf("east"), stateOf("west"), stateOf("north")
					id := inventory.Identity{UUIDs: []inventory.UUID{u}, IsJoining: joins, RecordedInstance: "1", RecordedVM: inventory.UUID{5}, OutlivedHome: node == "runs, outlived its home", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5")}, Recorded: topology.Ref{VCenter: "east", Type: "VirtualMachine", ID: "vm-1"}}
					switch at {
					case "none":
						id.Recorded, id.RecordedInstance = topology.Ref{}, ""
					case "on", "renamed", "names swapped", "failing":
						east = stateOf("east", vm{id: "vm-1", uuid: u, on: true, instance: 5})
					case "off":
						east = stateOf("east", vm{id: "vm-1", uuid: u})
					case "power unknown":
						east = stateOf("east", vm{id: "vm-1", uuid: u})
						east.Snapshot.VMs["vm-1"].Power = inventory.PowerUnknown
					case "unreadable":
						east = stateOf("east", vm{id: "vm-1", uuid: u, unreadable: true})
					case "hidden":
						east.Snapshot.Homes["vm-1"] = inventory.Hidden
					case "unasked":
						delete(east.Snapshot.Homes, "vm-1")
					case "there":
						east.Snapshot.Homes["vm-1"] = inventory.Present
					case "of another UUID":
						east = stateOf("east", vm{id: "vm-1", uuid: inventory.UUID{7}})
					case "removed":
						id.Recorded.VCenter, id.RecordedInstance = "old", "0"
					case "in another vCenter of that name":
						id.RecordedInstance = "0"
					}
					var vms []vm
					for i := range others.on {
						another := vm{id: fmt.Sprint("vm-", 2+i), uuid: u, on: true, instance: 6, address: "10.0.0.6"}
						switch node {
						case "runs, same instance UUID":
							another.instance = 5
						case "runs, same address":
							another.address = "10.0.0.5"
						}
						vms = append(vms, another)
					}
					for i := range others.off {
						vms = append(vms, vm{id: fmt.Sprint("vm-", 5+i), uuid: u})
					}
					west = stateOf("west", vms...)
					east.Snapshot.Instance, west.Snapshot.Instance, north.Snapshot.Instance = "1", "2", "3"
					if third == "not read yet" {
						north = notRead("north")
					}
					names := map[string]string{"east": "east", "west": "west", "north": "north"}
					switch at {
					case "renamed":
						names["east"] = "new"
					case "names swapped":
						names["east"], names["west"] = "west", "east"
					}
					states := []inventory.State{east, west, north}
					for i, s := range states {
						states[i].VCenter = names[s.VCenter]
						if s.Snapshot != nil {
							s.Snapshot.VCenter = names[s.VCenter]
							for moid, m := range s.Snapshot.VMs {
								m.Ref = s.Snapshot.Ref(moid)
							}
						}
					}
					if third == "failing" {
						states[2] = failing(north)
					}
					if at == "failing" {
						states[0] = failing(states[0])
					}

					allRead := third == "read" && at != "failing"
					same := node == "runs, same instance UUID" || node == "runs, same address"
					want := nobody
					switch at {
					case "none":
						switch {
						case others.on > 1:
							want = "ambiguous"
						case others.on == 1 && third != "not read yet":
							want = other
						case others.on == 0 && others.off == 0 && allRead:
							want = "absent"
						}
					case "names swapped":
						// Each name belongs to another vCenter, so the instance UUID identifies the VM.
						switch {
						case others.on > 0:
							want = "ambiguous"
						case allRead:
							want = home
						}
					case "on", "renamed":
						switch {
						case others.on > 0:
							want = "ambiguous"
						case !joins || third != "not read yet":
							want = home
						}
					case "failing":
						if others.on == 0 && (!joins || third != "not read yet") {
							want = home
						}
					case "off":
						switch {
						case others.on > 1:
							want = "ambiguous"
						case others.on == 1 && allRead && (joins || same || id.OutlivedHome):
							want = other
						case others.on == 0 && !joins:
							want = home
						}
					case "power unknown":
						if others.on == 0 && (!joins || allRead) {
							want = home
						}
					case "gone", "of another UUID", "removed", "in another vCenter of that name":
						isRemoved := at == "removed" || at == "in another vCenter of that name"
						switch {
						case others.on > 1:
							want = "ambiguous"
						case others.on == 1 && allRead && (joins || same || at == "removed"):
							want = other
						case others.on == 0 && others.off == 0 && allRead && !isRemoved:
							want = "absent"
						}
					}
					m, err := inventory.Find(states, id)
					got := nobody
					switch {
					case errors.Is(err, topology.ErrAmbiguous):
						got = "ambiguous"
					case errors.Is(err, topology.ErrAbsent):
						got = "absent"
					case err == nil && m.Ref == states[0].Snapshot.Ref("vm-1"):
						got = home
					case err == nil && m.Ref.VCenter == states[1].VCenter:
						got = other
					case !errors.Is(err, topology.ErrUnknown):
						got = fmt.Sprint(m, err)
					}
					if got != want {
						t.Errorf("home %s, %d others on and %d off, a third vCenter %s, the Node %s: %s, want %s (%v)", at, others.on, others.off, third, node, got, want, err)
					}
					if at == "gone" && others.on == 0 && others.off > 0 && allRead != errors.Is(err, inventory.ErrPoweredOff) {
						t.Errorf("gone, and another one is off, the Node %s: %v", node, err)
					}
					isOff := at == "off" && !joins && others.on == 0
					if power, err := inventory.PowerOf(states, id); (power == inventory.PowerOff) != (isOff && others.off == 0) {
						t.Errorf("home %s, %d others on and %d off, a third vCenter %s, the Node %s: power state %s, %v", at, others.on, others.off, third, node, power, err)
					}
					var not *inventory.NotShown
					if at == "unasked" && (allRead || others.on+others.off > 0) && !errors.As(err, &not) {
						t.Errorf("home not asked about: %v", err)
					}
				}
			}
		}
	}
}
