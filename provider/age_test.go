package provider

import (
	"errors"
	"strings"
	"testing"
	"time"

	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestAQuietVCenterIsAsked, and its Node is initialized when it has answered.
func TestAQuietVCenterIsAsked(t *testing.T) {
	s := stateOf("east", machine(uuidA))
	s.LastContact = time.Time{}
	fleet := &fakeFleet{states: states{s}, quiet: true}
	withFramework(t, fleet, func(c *cluster) {
		c.pass(time.Second)
		if probed := fleet.probed(); len(probed) == 0 || probed[0] != "east" {
			t.Errorf("asked for an answer: %q", probed)
		}
		if !nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("the Node is initialized")
		}
		s.LastContact = time.Now()
		fleet.become(s)
		c.pass(time.Second)
		if nodeinfo.IsUninitialized(c.node("node-1")) {
			t.Error("the Node still waits")
		}
	}, aNode("node-1", withSystemUUID(uuidA)))
}

// TestASnapshotThatIsTooOld initializes no Node. What a vCenter said before it was
// unreachable for long may be of before a vMotion.
func TestASnapshotThatIsTooOld(t *testing.T) {
	const short, long = 4*time.Minute + 50*time.Second, 5*time.Minute + time.Second
	for name, c := range map[string]struct {
		age    time.Duration
		err    error
		placed bool
		says   string
	}{
		"in contact":               {0, nil, true, ""},
		"unreachable for a while":  {short, errRefused, true, ""},
		"unreachable for too long": {long, errRefused, false, "connection refused"},
		// As after the daemon's own machine was suspended.
		"quiet for too long": {long, nil, false, "checking whether the vCenter still answers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf("west", machine(uuidA))
			s.Err, s.LastContact = c.err, time.Now().Add(-c.age)
			p, fleet := provide(states{s})
			fleet.quiet = true
			node := aNode("node-1", withSystemUUID(uuidA))
			metadata, err := p.InstanceMetadata(t.Context(), node)
			if err != nil || (metadata != nil) != c.placed {
				t.Errorf("metadata %+v, %v", metadata, err)
			}
			err = p.placer.Decide(node).Err
			if (err == nil) != c.placed {
				t.Fatalf("placed: %v", err)
			}
			if err == nil {
				return
			}
			if !errors.Is(err, topology.ErrUnknown) || errors.Is(err, inventory.ErrUnreachable) != (c.err != nil) || !strings.Contains(err.Error(), c.says) {
				t.Error(err)
			}
			// A Node that runs keeps what it has, and its machine exists.
			if exists, err := p.InstanceExists(t.Context(), ours()); !exists || err != nil {
				t.Errorf("exists: %v, %v", exists, err)
			}
		})
	}
}
