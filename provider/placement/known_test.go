package placement

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/vcenter/inventory"
)

// leading returns a placer of a process that leads.
func leading() *Placer {
	p := New(nil, &config.Config{}, Options{})
	p.nodes.Start()
	return p
}

// TestReservationsEnd with the Node, with what it shows, when it gets something else, and with time.
func TestReservationsEnd(t *testing.T) {
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::2")
	for name, c := range map[string]struct {
		happens  func(*Placer)
		one, two string // whose they are then
		machine  bool
	}{
		"nothing":         {func(*Placer) {}, "a", "a", true},
		"shows one":       {func(p *Placer) { p.NodeChanged(aNode("a", withAddress("10.0.0.1"))) }, "", "a", true},
		"shows machine":   {func(p *Placer) { p.NodeChanged(aNode("a", runs)) }, "a", "a", false},
		"shows all":       {func(p *Placer) { p.NodeChanged(aNode("a", runs, withAddress("10.0.0.1", "2001:db8::2"))) }, "", "", false},
		"gets one":        {func(p *Placer) { p.reserve(aNode("a"), inventory.UUID{}, both("10.0.0.1")) }, "a", "", true},
		"is gone":         {func(p *Placer) { p.Forget("uid-a") }, "", "", false},
		"long ago":        {func(*Placer) { time.Sleep(reservedFor) }, "", "", false},
		"another changes": {func(p *Placer) { p.NodeChanged(aNode("b", runs, withAddress("10.0.0.1"))) }, "a", "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := leading()
				p.reserve(aNode("a"), mustUUID(uuidA), both("10.0.0.1", "2001:db8::2"))
				c.happens(p)
				if got := p.reservedBy(one, aNode("b")); got != c.one {
					t.Errorf("the first address is %q's, want %q", got, c.one)
				}
				if got := p.reservedBy(two, aNode("b")); got != c.two {
					t.Errorf("the second address is %q's, want %q", got, c.two)
				}
				if got := p.reservationOf("uid-a").machine == mustUUID(uuidA); got != c.machine {
					t.Errorf("the machine is reserved: %t", got)
				}
				if p.reservedBy(one, aNode("a")) != "" {
					t.Error("the Node is refused its own address")
				}
				if left := c.one+c.two != "" || c.machine; len(p.reserving) > 0 != left {
					t.Errorf("reserving %v", p.reserving)
				}
			})
		})
	}
}

// withAddress gives a Node addresses of either kind.
func withAddress(addresses ...string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.Addresses = both(addresses...) }
}
