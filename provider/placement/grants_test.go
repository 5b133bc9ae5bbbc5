package placement

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/addresses"
)

// TestGrantsEnd with the Node, with what its status shows, and with time.
func TestGrantsEnd(t *testing.T) {
	var g grants
	a, b := aNode("a"), aNode("b")
	if err := g.give(a, both("10.0.0.1", "10.0.0.2"), g.now()); err != nil {
		t.Fatal(err)
	}
	one := netip.MustParseAddr("10.0.0.1")
	if err := g.give(b, both("10.0.0.3", "10.0.0.2"), g.now()); err == nil || g.to(one, b) != "a" || g.to(one, a) != "" || g.to(netip.MustParseAddr("10.0.0.3"), a) != "" {
		t.Errorf("%v, %+v", err, g.by)
	}
	a.Status.Addresses = both("10.0.0.2")
	g.shown(a)
	if two := netip.MustParseAddr("10.0.0.2"); g.to(one, b) != "a" || g.to(two, b) != "" {
		t.Errorf("%+v", g.by)
	}
	g.forget(a.UID)
	if err := g.give(b, both("10.0.0.1"), g.now()); err != nil {
		t.Error(err)
	}
	g.purge(time.Now().Add(assumedFor))
	if len(g.by) != 0 || len(g.of) != 0 {
		t.Errorf("%+v, %+v", g.by, g.of)
	}
}

// TestGivenOtherAddresses: what a Node was given before and is not any more is free.
func TestGivenOtherAddresses(t *testing.T) {
	var g grants
	one, other := aNode("one"), aNode("other")
	internal := func(a string) []v1.NodeAddress { return []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: a}} }
	for _, a := range []string{"10.0.0.1", "10.0.0.2"} {
		if err := g.give(one, internal(a), g.now()); err != nil {
			t.Fatal(err)
		}
	}
	if to := g.to(netip.MustParseAddr("10.0.0.1"), other); to != "" {
		t.Errorf("10.0.0.1 is still %q's", to)
	}
	if to := g.to(netip.MustParseAddr("10.0.0.2"), other); to != "one" {
		t.Errorf("10.0.0.2 is %q's", to)
	}
}

// TestGivenAndShownMeanwhile: between the choice of a Node's addresses and its being given
// them, another one can be given the same address and show it.
func TestGivenAndShownMeanwhile(t *testing.T) {
	var g grants
	a, b := aNode("a"), aNode("b")
	chosen := g.now()
	if err := g.give(a, both("10.0.0.1"), chosen); err != nil {
		t.Fatal(err)
	}
	a.Status.Addresses = both("10.0.0.1")
	g.shown(a)
	if err := g.give(b, both("10.0.0.1"), chosen); !errors.Is(err, addresses.ErrClaimed) {
		t.Errorf("chosen before: %v", err)
	}
	if err := g.give(a, both("10.0.0.1"), chosen); err != nil {
		t.Errorf("to the same Node: %v", err)
	}
	if err := g.give(b, both("10.0.0.2"), chosen); err != nil {
		t.Errorf("another one: %v", err)
	}
	g.purge(time.Now().Add(assumedFor))
	if len(g.ended.of) != 0 {
		t.Errorf("%+v", g.ended)
	}
}
