package provider

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/nodeinfo"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestContradiction compares both byte orders, and takes what is not a UUID for nothing.
func TestContradiction(t *testing.T) {
	for name, c := range map[string]struct {
		providerID, systemUUID string
		want                   bool
	}{
		"the same":            {"vsphere://" + uuidA, uuidA, false},
		"in upper case":       {"vsphere://" + uuidA, strings.ToUpper(uuidA), false},
		"the other order":     {"vsphere://" + uuidA, mustUUID(uuidA).Swapped().String(), false},
		"the ID swapped":      {"vsphere://" + mustUUID(uuidA).Swapped().String(), uuidA, false},
		"no system UUID":      {"vsphere://" + uuidA, "", false},
		"zeros":               {"vsphere://" + uuidA, "00000000-0000-0000-0000-000000000000", false},
		"ones":                {"vsphere://" + uuidA, "ffffffff-ffff-ffff-ffff-ffffffffffff", false},
		"not settable":        {"vsphere://" + uuidA, "Not Settable", false},
		"no provider ID":      {"", uuidA, false},
		"another provider's":  {foreignID, uuidA, false},
		"not a UUID":          {"vsphere://node-1", uuidA, false},
		"another machine's":   {"vsphere://" + uuidA, uuidB, true},
		"another, in braces":  {"vsphere://" + uuidA, "{" + uuidB + "}", true},
		"another one swapped": {"vsphere://" + uuidA, mustUUID(uuidB).Swapped().String(), true},
	} {
		t.Run(name, func(t *testing.T) {
			err := nodeinfo.Contradiction(aNode("n", withProviderID(c.providerID), withSystemUUID(c.systemUUID)))
			if c.want != errors.Is(err, nodeinfo.ErrContradiction) || c.want != errors.Is(err, topology.ErrUnknown) || c.want != (err != nil) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestANodeThatContradictsItself gets nothing of either machine, and is deleted by the
// machine of its provider ID alone.
func TestANodeThatContradictsItself(t *testing.T) {
	a := machine(uuidA)
	b := machine(uuidB, in("east", "b"))
	off := machine(uuidA, withPower(inventory.PowerOff))
	for name, c := range map[string]struct {
		states states
		exists bool
	}{
		"both machines run":         {states{stateOf("east", a, b)}, true},
		"that of the ID is off":     {states{stateOf("east", off, b)}, true},
		"that of the ID is gone":    {states{stateOf("east", b)}, false},
		"both are gone":             {states{stateOf("east")}, false},
		"that of the UUID is gone":  {states{stateOf("east", a)}, true},
		"one of them is in another": {states{stateOf("east", b), stateOf("west", a)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, change := range []func(*v1.Node){func(*v1.Node) {}, untainted} {
				p, f := provide(c.states)
				f.confirm = nobody
				n := aNode("node-1", withProviderID("vsphere://"+uuidA), withSystemUUID(uuidB), silent, withRecord("east/vm-1"), change)
				if exists, err := asked(t, p, f, n); exists != c.exists || err != nil {
					t.Errorf("it exists: %v, %v", exists, err)
				}
				if down, err := p.placer.IsShutDown(n); down || !errors.Is(err, nodeinfo.ErrContradiction) {
					t.Errorf("it is shut down: %v, %v", down, err)
				}
				if m, err := p.InstanceMetadata(t.Context(), n); err != nil || nodeinfo.IsUninitialized(n) != (m == nil) || m != nil && !reflect.DeepEqual(*m, cloudprovider.InstanceMetadata{}) {
					t.Errorf("metadata %+v, %v", m, err)
				}
				if place := p.placer.Decide(n); place.Machine != nil || report.Of(place.PlaceErr).Event != "ProviderIDMismatch" {
					t.Errorf("placed at %+v, %v", place.Machine, place.PlaceErr)
				}
			}
		})
	}
}

// TestWhereAContradictionWasFound is noted and recorded: that decides whether the Node may be deleted.
func TestWhereAContradictionWasFound(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", machine(uuidA), machine(uuidB))}}, func(c *cluster) {
		c.pass(delayRunning)
		c.wantEvents("node-1 ProviderIDMismatch")
		if seen, n := c.lastSeen("uid-node-1"), c.node("node-1"); seen.VCenter != "east" || n.Annotations[nodeinfo.KeyMachine] != "east/vm-1" || n.Labels[nodeinfo.KeyInitialized] != "" {
			t.Errorf("seen %+v, annotated %v, labeled %v", seen, n.Annotations, n.Labels)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), withSystemUUID(uuidB), untainted))
}
