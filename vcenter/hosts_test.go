package vcenter

import (
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/test/fleet"
	"vzones/topology"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

const stretched = `
vcenters:
- name: east
  datacenters:
  - name: dc
    clusters:
    - name: c1
      hosts: [{name: a1, faultDomain: fd-a}, {name: a2, faultDomain: fd-a}, {name: b1, faultDomain: fd-b}, {name: spare}]
      hostGroups: [{name: site-a, hosts: [a1, a2]}, {name: site-b, hosts: b1}, {name: licensed, hosts: [a1, b1]}]
    - {name: c2, hosts: [{name: c2h}], hostGroups: [{name: site-c, hosts: []}]}
    hosts: [alone]
    vms: [{name: n1, host: a1}, {name: n2, host: b1}, {name: n3, host: spare}, {name: n4, host: alone}, {name: n5, host: c2h}]
`

// facts formats the host groups and the fault domain of a VM's host.
func facts(m *inventory.VM) string {
	host := m.Paths[0].Objects[0]
	text := func(of *topology.Membership) string {
		switch {
		case of == nil:
			return "not read"
		case of.Err != nil:
			return of.Err.Error()
		}
		return strings.Join(of.Names, " ")
	}
	return text(host.HostGroups) + " / " + text(host.FaultDomain)
}

func (w *world) fact(id inventory.Identity, want string) {
	w.Helper()
	var got string
	defer func() {
		if w.Failed() {
			w.Logf("last: %s, want %s", got, want)
		}
	}()
	w.until(want, func([]inventory.State) bool {
		got = facts(w.found(id))
		return got == want
	})
}

var byHost = Options{Requirements: Requirements{HostGroups: true, FaultDomains: true}, Timeout: patience * 2 * time.Second, TagRefresh: time.Hour, RetryMin: 20 * time.Millisecond, RetryMax: 100 * time.Millisecond}

func (w *world) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestHostGroupsAndFaultDomains checks that they follow when the VM moves and when its host changes the group
// or the cluster, without further requests.
func TestHostGroupsAndFaultDomains(t *testing.T) {
	t.Parallel()
	w := run(t, stretched, byHost, nil)
	n1, n2, n3, n4, n5 := w.id("n1"), w.id("n2"), w.id("n3"), w.id("n4"), w.id("n5")
	w.fleet.Follow([]inventory.Identity{n1, n2, n3, n4, n5})
	w.fact(n1, "licensed site-a / fd-a")
	w.fact(n2, "licensed site-b / fd-b")
	w.fact(n3, " / ")
	w.fact(n4, "not read / ")
	w.fact(n5, " / ")
	east := w.sim.VCenter("east")
	before := east.Requests()
	w.do(east.MoveVM("n1", "b1"))
	w.fact(n1, "licensed site-b / fd-b")
	w.do(east.AddToGroup("b1", "new"))
	w.fact(n1, "licensed new site-b / fd-b")
	w.do(east.RegroupHost("b1", "site-a"))
	w.fact(n2, "site-a / fd-b")
	w.do(east.TakeFromGroup("b1", "site-a"))
	w.fact(n2, " / fd-b")
	w.do(east.SetFaultDomain("b1", "fd-x"))
	w.fact(n2, " / fd-x")
	w.do(east.SetFaultDomain("b1", ""))
	w.fact(n2, " / ")
	w.do(east.LoseHost("b1")) // Its configuration may be missing.
	w.fact(n2, " / "+"the host is not connected to the vCenter")
	w.do(east.RestoreHost("b1"))
	w.fact(n2, " / ")
	w.do(east.MoveHost("a1", "c2"))
	w.do(east.MoveVM("n1", "a1"))
	w.fact(n1, " / fd-a")
	w.do(east.AddToGroup("a1", "site-c"))
	w.fact(n1, "site-c / fd-a")
	after := east.Requests()
	for _, kind := range []string{"RetrievePropertiesEx", "CreateFilter", "Login", "CreatePropertyCollector"} {
		if n := after[kind] - before[kind]; n != 0 {
			w.Errorf("%d further requests %s", n, kind)
		}
	}
}

// TestLargeClusterConfiguration checks that a cluster whose configuration is too large has unknown host groups,
// and that the vCenter's other clusters are not affected.
func TestLargeClusterConfiguration(t *testing.T) {
	t.Parallel()
	opts := byHost
	opts.TagRefresh = 200 * time.Millisecond
	opts.Timeout = time.Minute // Reading 5 MiB takes seconds on a busy computer.
	large := strings.Repeat("x", 5<<20)
	w := run(t, stretched, opts, func(f *fleet.Fleet, _ []config.VCenter) {
		if err := f.VCenter("east").AddToGroup("b1", large); err != nil {
			t.Fatal(err)
		}
	})
	east := w.sim.VCenter("east")
	n1, n5 := w.id("n1"), w.id("n5")
	w.fleet.Follow([]inventory.Identity{n1, n5})
	w.fact(n1, "the configuration of the cluster cannot be read: "+session.LargeAnswer.Error()+" / fd-a")
	w.do(east.AddToGroup("c2h", "site-c"))
	w.fact(n5, "site-c / ")
	w.do(east.MoveVM("n5", "a1"))
	w.fact(n5, "the configuration of the cluster cannot be read: "+session.LargeAnswer.Error()+" / fd-a")
	w.do(east.RemoveGroup("b1", large))
	w.fact(n1, "licensed site-a / fd-a")
}
