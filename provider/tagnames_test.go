package provider

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// named returns a state whose names of tags were read so long ago.
func named(s inventory.State, age time.Duration, categories ...string) inventory.State {
	s.TagNames = inventory.TagNames{ReadAt: time.Now().Add(-age), Categories: categories}
	return s
}

// needed are the categories of testConfig.
var needed = []string{"k8s-region", "k8s-zone"}

// TestNamesThatAreOld initialize no Node; they are read again first. A Node that runs is
// counted by what is known.
func TestNamesThatAreOld(t *testing.T) {
	for name, c := range map[string]struct {
		age        time.Duration
		categories []string
		waits      bool
	}{
		"of lately":                      {29 * time.Second, needed, false},
		"older than the interval":        {31 * time.Second, needed, true},
		"without one of the categories":  {0, needed[:1], true},
		"with more than are needed":      {0, append([]string{"rack"}, needed...), false},
		"none could be read by anything": {100000 * time.Hour, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := named(stateOf("east", machine(uuidA)), c.age, c.categories...)
			if c.categories == nil {
				s.TagNames = inventory.TagNames{}
			}
			p, fleet := provide(states{s})
			node := aNode("node-1", withSystemUUID(uuidA))
			metadata, err := p.InstanceMetadata(t.Context(), node)
			if err != nil || (metadata == nil) != c.waits {
				t.Errorf("%+v, %v", metadata, err)
			}
			if (len(fleet.tagsRead()) > 0) != c.waits {
				t.Errorf("read again: %q", fleet.tagsRead())
			}
			if _, err := p.placer.Join(node); (err != nil) != c.waits || c.waits && !errors.Is(err, topology.ErrUnknown) {
				t.Errorf("it waits for %v", err)
			}
			if err := p.placer.Decide(node).Err; err != nil {
				t.Errorf("what is known: %v", err)
			}
		})
	}
}

// TestANodeWaitsForNames until they were read, also by a vCenter that takes longer than
// the interval, and is woken then although it had been described before.
func TestANodeWaitsForNames(t *testing.T) {
	for _, took := range []time.Duration{time.Second, 45 * time.Second, 150 * time.Second} {
		s := stateOf("east", machine(uuidA))
		s.TagNames = inventory.TagNames{ReadAt: time.Unix(0, 0), Categories: needed}
		fleet := &fakeFleet{states: states{s}}
		withFramework(t, fleet, func(c *cluster) {
			c.pass(time.Second)
			if !nodeinfo.IsUninitialized(c.node("node-1")) || len(fleet.tagsRead()) == 0 {
				t.Errorf("initialized, or nothing was read: %q", fleet.tagsRead())
			}
			c.pass(took)
			fleet.become(named(s, took, needed...))
			c.pass(time.Second)
			if nodeinfo.IsUninitialized(c.node("node-1")) {
				t.Errorf("read %v ago: it still waits", took)
			}
		}, aNode("node-1", withSystemUUID(uuidA)))
	}
}

// TestNamesServeForAMoment: what was read since a Node began to wait does not serve it for
// ever, whatever keeps it from being initialized, nor what was read before it waited for
// something else.
func TestNamesServeForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, fleet := provide(nil)
		node := aNode("node-1", withSystemUUID(uuidA))
		initial := func(age time.Duration, change ...func(*inventory.Machine)) bool {
			fleet.become(named(stateOf("east", machine(uuidA, change...)), age, needed...))
			_, err := p.placer.Join(node)
			return err == nil
		}
		if initial(time.Hour) {
			t.Error("old names serve")
		}
		time.Sleep(2 * time.Minute)
		for range 12 {
			if !initial(time.Minute + 50*time.Second) {
				t.Error("names that were read since it waits do not serve")
			}
			time.Sleep(time.Minute / 12)
		}
		time.Sleep(time.Second)
		if initial(2*time.Minute + 50*time.Second) {
			t.Error("they serve for ever")
		}
		for _, other := range []func() bool{
			func() bool { return !initial(time.Hour, withoutAddress) },
			func() bool { return initial(0) },
		} {
			if !other() {
				t.Error("this shows nothing")
			}
			time.Sleep(time.Minute)
			if initial(50 * time.Second) {
				t.Error("it has waited for something else")
			}
		}
	})
}

// TestNamesOfAFailingVCenter: what a Node waits for is that vCenter.
func TestNamesOfAFailingVCenter(t *testing.T) {
	p, _ := provide(states{named(failing(stateOf("east", machine(uuidA))), time.Minute, needed...)})
	if _, err := p.placer.Join(aNode("node-1", withSystemUUID(uuidA))); report.Of(err).Name != "vcenter_unreachable" {
		t.Errorf("it waits for %v", err)
	}
}
