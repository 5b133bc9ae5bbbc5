package provider

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/addresses"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

type states = []inventory.State

func provide(s states) (*Provider, *fakeFleet) {
	f := &fakeFleet{states: s}
	return New(f, testConfig(), Options{}), f
}

const foreignID = "aws:///eu-central-1a/i-0abcdef"

// ours is a Node that was initialized once.
func ours() *v1.Node { return aNode("node-1", withProviderID("vsphere://"+uuidA), untainted) }

func TestInstanceExists(t *testing.T) {
	a, b := machine(uuidA), machine(uuidB)
	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		exists bool
		err    error // nil with exists false: the Node is to be deleted
	}{
		{"found", ours(), states{stateOf("east", a), stateOf("west", b)}, true, nil},
		{"found, powered off", ours(), states{stateOf("east", machine(uuidA, withPower(inventory.PowerOff)))}, true, nil},
		{"found by system UUID", aNode("n", withSystemUUID(uuidA)), states{stateOf("east", a)}, true, nil},
		{"found while another vCenter is in trouble", ours(), states{stateOf("east", a), failing(stateOf("west"))}, true, nil},
		{"two machines run", ours(), states{stateOf("east", a), stateOf("west", a)}, true, nil},
		{"a vCenter in trouble", ours(), states{stateOf("east"), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"a vCenter not read yet", ours(), states{stateOf("east"), {VCenter: "west"}}, false, topology.ErrUnknown},
		{"an incomplete index", ours(), states{stateOf("east"), incomplete(stateOf("west"))}, false, topology.ErrUnknown},
		{"a provider ID that says nothing", aNode("n", withProviderID("vsphere://node-1"), withSystemUUID(uuidA)), states{stateOf("east", a)}, false, topology.ErrUnknown},
		{"never found, by system UUID", aNode("n", withSystemUUID(uuidA)), states{stateOf("east")}, false, topology.ErrUnknown},
		{"never found, by name", aNode("n"), states{stateOf("east")}, false, topology.ErrUnknown},
		{"never found, without taint", aNode("n", withSystemUUID(uuidA), untainted), states{stateOf("east")}, false, topology.ErrUnknown},
		{"another provider's", aNode("n", withProviderID(foreignID), withSystemUUID(uuidA)), states{stateOf("east")}, true, nil},
		{"another provider's, nothing is known", aNode("n", withProviderID(foreignID)), states{{VCenter: "east"}}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, f := provide(c.states)
			f.confirm = func(context.Context, inventory.Identity) error {
				t.Error("the vCenters were searched")
				return nil
			}
			exists, err := p.InstanceExists(t.Context(), c.node)
			if exists != c.exists || !errors.Is(err, c.err) {
				t.Errorf("%v, %v, want %v, %v", exists, err, c.exists, c.err)
			}
			if !exists && err == nil {
				t.Error("the Node would be deleted")
			}
		})
	}
}

func TestInstanceShutdown(t *testing.T) {
	power := func(p inventory.Power) *inventory.Machine { return machine(uuidA, withPower(p)) }
	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		down   bool
		err    error
	}{
		{"on", ours(), states{stateOf("east", power(inventory.PowerOn))}, false, nil},
		{"off", ours(), states{stateOf("east", power(inventory.PowerOff))}, true, nil},
		{"suspended", ours(), states{stateOf("east", power(inventory.PowerSuspended))}, true, nil},
		{"cannot be read", ours(), states{stateOf("east", power(inventory.PowerUnknown))}, false, topology.ErrUnknown},
		{"stale, on", ours(), states{failing(stateOf("east", power(inventory.PowerOn)))}, false, topology.ErrUnknown},
		{"stale, off", ours(), states{failing(stateOf("east", power(inventory.PowerOff)))}, false, topology.ErrUnknown},
		{"on, another vCenter in trouble", ours(), states{stateOf("east", power(inventory.PowerOn)), failing(stateOf("west"))}, false, nil},
		{"off, another vCenter in trouble", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1")), states{stateOf("east", power(inventory.PowerOff)), failing(stateOf("west"))}, true, nil},
		{"off, never found before, another vCenter in trouble", ours(), states{stateOf("east", power(inventory.PowerOff)), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"off, last found in a vCenter in trouble", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("west/vm-1")), states{stateOf("east", power(inventory.PowerOff)), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"on, last found in a vCenter in trouble", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("west/vm-1")), states{stateOf("east", power(inventory.PowerOn)), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"off here, on there", ours(), states{stateOf("east", power(inventory.PowerOff)), stateOf("west", power(inventory.PowerOn))}, false, nil},
		{"two machines run", ours(), states{stateOf("east", power(inventory.PowerOn)), stateOf("west", power(inventory.PowerOn))}, false, topology.ErrAmbiguous},
		{"absent", ours(), states{stateOf("east")}, false, topology.ErrAbsent},
		{"a provider ID that says nothing", aNode("n", withProviderID("vsphere://x")), states{stateOf("east")}, false, topology.ErrUnknown},
		{"another provider's", aNode("n", withProviderID(foreignID), withSystemUUID(uuidA)), states{stateOf("east", power(inventory.PowerOff))}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := provide(c.states)
			down, err := p.placer.IsShutDown(c.node)
			if shown, failed := p.InstanceShutdown(t.Context(), c.node); shown != down || failed != nil {
				t.Errorf("the framework gets %v, %v", shown, failed)
			}
			if p.placer.IsForeign(c.node) {
				err = nil
			}
			if down != c.down || !errors.Is(err, c.err) {
				t.Errorf("%v, %v, want %v, %v", down, err, c.down, c.err)
			}
		})
	}
}

// complete is what the Node of machine(uuidA) is initialized with.
func complete() *cloudprovider.InstanceMetadata {
	return &cloudprovider.InstanceMetadata{
		ProviderID:   "vsphere://" + uuidA,
		InstanceType: "vsphere-vm.cpu-4.mem-8gb.os-ubuntu",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: "node-1"},
			{Type: v1.NodeInternalIP, Address: "10.0.0.1"},
			{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
		},
		Region: "east",
		Zone:   "a",
	}
}

func TestMetadataOfANewNode(t *testing.T) {
	guest := "56492e42-22ad-3911-6d72-59cc8f26bc90" // uuidA as some guests show it
	for name, node := range map[string]*v1.Node{
		"by system UUID":             aNode("n", withSystemUUID(uuidA)),
		"by UUID in the other order": aNode("n", withSystemUUID(guest)),
		"by provider ID":             aNode("n", withProviderID("vsphere://"+uuidA)),
		"by name":                    aNode("node-1"),
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := provide(states{stateOf("east", machine(uuidB, func(m *inventory.Machine) { m.HostName = "node-2" })), stateOf("west", machine(uuidA))})
			got, err := p.InstanceMetadata(t.Context(), node)
			if diff := cmp.Diff(complete(), got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// TestMetadataOfANewNodeIsCompleteOrNothing: an error would make the framework
// try again at growing intervals, anything half would take the taint off.
func TestMetadataOfANewNodeIsCompleteOrNothing(t *testing.T) {
	node := aNode("node-1", withSystemUUID(uuidA))
	twoZones := pathOf("east", "a")
	cluster := twoZones[0].Objects[1]
	cluster.Tags = append(cluster.Tags, topology.Tag{Category: "k8s-zone", Name: "b"})
	unreadTags := pathOf("east", "a")
	unreadTags[0].Objects[0].TagsErr = errors.New("503")
	unread := stateOf("east", machine(uuidA))
	clear(unread.Snapshot.Machines)

	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		reason string // of the Event
	}{
		{"no zone", node, states{stateOf("east", machine(uuidA, in("east", "")))}, "TopologyMissing"},
		{"no region", node, states{stateOf("east", machine(uuidA, in("", "a")))}, "TopologyMissing"},
		{"a zone that is no label value", node, states{stateOf("east", machine(uuidA, in("east", "zone a")))}, "TopologyInvalid"},
		{"two zones", node, states{stateOf("east", machine(uuidA, func(m *inventory.Machine) { m.Paths = twoZones }))}, "Ambiguous"},
		{"tags not read", node, states{stateOf("east", machine(uuidA, func(m *inventory.Machine) { m.Paths = unreadTags }))}, "VCenterUnknown"},
		{"two machines run", node, states{stateOf("east", machine(uuidA)), stateOf("west", machine(uuidA))}, "Ambiguous"},
		{"no address", node, states{stateOf("east", machine(uuidA, withoutAddress))}, "AddressMissing"},
		{"off, and the kubelet has --node-ip", withNodeIP(aNode("node-1", withSystemUUID(uuidA)), "10.0.0.1"), states{stateOf("east", machine(uuidA, withoutAddress, withPower(inventory.PowerOff)))}, "MachinePoweredOff"},
		{"absent", node, states{stateOf("east"), stateOf("west")}, "MachineNotFound"},
		{"a vCenter in trouble", node, states{stateOf("east"), failing(stateOf("west"))}, "VCenterUnreachable"},
		{"nothing read yet", node, states{{VCenter: "east"}, {VCenter: "west"}}, "VCenterUnknown"},
		{"details not read yet", node, states{unread}, "VCenterUnknown"},
		{"a provider ID that says nothing", aNode("node-1", withProviderID("vsphere://x"), withSystemUUID(uuidA)), states{stateOf("east", machine(uuidA))}, "VCenterUnknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := provide(c.states)
			if got, err := p.InstanceMetadata(t.Context(), c.node); got != nil || err != nil {
				t.Errorf("%+v, %v, want nothing at all", got, err)
			}
			if err := p.placer.Decide(c.node).Err; err == nil || report.Of(err).Event != c.reason {
				t.Errorf("%v is reported as %s, want %s", err, report.Of(err).Event, c.reason)
			}
		})
	}
}

// TestMetadataOfAnInitializedNode: it has its addresses, if they are to change.
func TestMetadataOfAnInitializedNode(t *testing.T) {
	changed, kept := &cloudprovider.InstanceMetadata{NodeAddresses: complete().NodeAddresses}, &cloudprovider.InstanceMetadata{}
	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		want   *cloudprovider.InstanceMetadata
		err    error
	}{
		{"found", ours(), states{stateOf("east", machine(uuidA))}, changed, nil},
		{"found, with no zone", ours(), states{stateOf("east", machine(uuidA, in("east", "")))}, changed, nil},
		{"found, with a zone that is no label value", ours(), states{stateOf("east", machine(uuidA, in("east", "zone a")))}, changed, nil},
		{"no address at the moment", ours(), states{stateOf("east", machine(uuidA, withoutAddress))}, kept, nil},
		{"the same addresses", withStatus(ours(), complete().NodeAddresses...), states{stateOf("east", machine(uuidA))}, kept, nil},
		{"none that the Node may have", withNodeIP(ours(), "10.9.9.9"), states{stateOf("east", machine(uuidA))}, nil, addresses.ErrNone},
		{"none at the moment, and a kubelet with --node-ip", withNodeIP(ours(), "10.9.9.9"), states{stateOf("east", machine(uuidA, withoutAddress))}, kept, nil},
		{"absent", ours(), states{stateOf("east")}, kept, nil},
		{"a vCenter in trouble", ours(), states{failing(stateOf("east"))}, kept, nil},
		{"a vCenter that is not read yet", ours(), states{{VCenter: "east"}}, kept, nil},
		{"two machines run", ours(), states{stateOf("east", machine(uuidA)), stateOf("west", machine(uuidA))}, kept, nil},
		{"a provider ID that says nothing", aNode("n", withProviderID("vsphere://x"), untainted), states{stateOf("east")}, kept, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := provide(c.states)
			got, err := p.InstanceMetadata(t.Context(), c.node)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNodesOfAnotherProvider: whatever vSphere knows of such a Node's UUID.
func TestNodesOfAnotherProvider(t *testing.T) {
	p, _ := provide(states{stateOf("east", machine(uuidA))})
	waits := aNode("node-1", withProviderID(foreignID), withSystemUUID(uuidA))
	if got, err := p.InstanceMetadata(t.Context(), waits); got != nil || err != nil {
		t.Errorf("with the taint: %+v, %v, want nothing", got, err)
	}
	runs := aNode("node-1", withProviderID(foreignID), withSystemUUID(uuidA), untainted)
	got, err := p.InstanceMetadata(t.Context(), runs)
	if diff := cmp.Diff(&cloudprovider.InstanceMetadata{}, got); err != nil || diff != "" {
		t.Error("without the taint:", err, diff)
	}
}
