package vcenter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

func addrs(s ...string) []netip.Addr {
	var out []netip.Addr
	for _, a := range s {
		out = append(out, netip.MustParseAddr(a))
	}
	return out
}

// TestHostileGuests checks that excessive guest data is rejected with one log line, and affects neither other
// properties of the VM nor other VMs.
func TestHostileGuests(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 512 + 1 {
		fmt.Fprintf(&many, "172.16.%d.%d,", i/250, 1+i%250)
	}
	w := run(t, fmt.Sprintf(`
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east, zone: a}
    clusters: [{name: c1, hosts: 1}]
    vms:
    - name: n1
      hostname: "n 1"
      nics: [{ips: [%s]}]
      extraConfig: {guestinfo.metadata: %q}
    - name: n2
      nics: [{ips: [10.0.0.2]}, {deviceConfigId: -1, ips: [%[1]s]}]
      extraConfig: {guestinfo.metadata: "network: {ethernets: {a: {addresses: [10.0.0.2]}}}"}
`, many.String(), "S3cret: ["), slow, nil)
	n1, n2 := w.id("n1"), w.id("n2")
	w.fleet.Follow([]inventory.Identity{n1, n2})
	hostile, honest := w.found(n1), w.found(n2)
	if hostile.NICsError == nil || hostile.NICs != nil || hostile.Static != nil || hostile.HostName != "" || hostile.Name != "n1" {
		t.Errorf("of the hostile guest: %+v", hostile)
	}
	if honest.NICsError != nil || !honest.Partial || len(honest.NICs) != 1 || !slices.Equal(honest.Static, addrs("10.0.0.2")) || honest.HostName != "n2" {
		t.Errorf("of the honest guest: %+v", honest)
	}
	w.in(n1, "east/a")
	w.in(n2, "east/a")
	if err := w.sim.VCenter("east").Rename("n1", "n1\nI1122 made up\u202e"); err != nil {
		t.Fatal(err)
	}
	w.until("the path is on one line", func([]inventory.State) bool {
		return strings.HasSuffix(w.found(n1).InventoryPath, `/n1\nI1122 made up\u202e`)
	})
}
