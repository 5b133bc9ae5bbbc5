package provider

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	cloudprovider "k8s.io/cloud-provider"

	"vzones/provider/addresses"
	"vzones/provider/nodeinfo"
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

// ours returns an initialized Node.
func ours() *v1.Node { return aNode("node-1", withProviderID("vsphere://"+uuidA), untainted) }

func TestInstanceExists(t *testing.T) {
	a, b := newVM(uuidA), newVM(uuidB)
	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		exists bool
		err    error // if nil while exists is false, the Node is deleted
	}{
		{"found", ours(), states{stateOf("east", a), stateOf("west", b)}, true, nil},
		{"found, powered off", ours(), states{stateOf("east", newVM(uuidA, withPower(inventory.PowerOff)))}, true, nil},
		{"found by system UUID", aNode("n", withSystemUUID(uuidA)), states{stateOf("east", a)}, true, nil},
		{"found while another vCenter is in trouble", ours(), states{stateOf("east", a), failing(stateOf("west"))}, true, nil},
		{"two VMs run", ours(), states{stateOf("east", a), stateOf("west", a)}, true, nil},
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
				t.Errorf("InstanceExists = %t, %v, want %t and the error %v", exists, err, c.exists, c.err)
			}
			if !exists && err == nil {
				t.Error("the Node would be deleted")
			}
		})
	}
}

func TestInstanceShutdown(t *testing.T) {
	power := func(p inventory.Power) *inventory.VM { return newVM(uuidA, withPower(p)) }
	recorded := func() *v1.Node {
		return aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("east/vm-1"))
	}
	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		down   bool
		err    error
	}{
		{"on", ours(), states{stateOf("east", power(inventory.PowerOn))}, false, nil},
		{"off", recorded(), states{stateOf("east", power(inventory.PowerOff))}, true, nil},
		{"suspended", recorded(), states{stateOf("east", power(inventory.PowerSuspended))}, true, nil},
		{"cannot be read", ours(), states{stateOf("east", power(inventory.PowerUnknown))}, false, topology.ErrUnknown},
		{"stale, on", ours(), states{failing(stateOf("east", power(inventory.PowerOn)))}, false, topology.ErrUnknown},
		{"stale, off", ours(), states{failing(stateOf("east", power(inventory.PowerOff)))}, false, topology.ErrUnknown},
		{"on, another vCenter in trouble", ours(), states{stateOf("east", power(inventory.PowerOn)), failing(stateOf("west"))}, false, nil},
		{"off, and a copy is off too", recorded(), states{stateOf("east", power(inventory.PowerOff)), stateOf("west", power(inventory.PowerOff))}, false, topology.ErrUnknown},
		{"off, never found before", ours(), states{stateOf("east", power(inventory.PowerOff))}, false, inventory.ErrPoweredOff},
		{"joins, off", aNode("node-1", withSystemUUID(uuidA)), states{stateOf("east", power(inventory.PowerOff))}, false, inventory.ErrPoweredOff},
		{"off, another vCenter in trouble", recorded(), states{stateOf("east", power(inventory.PowerOff)), failing(stateOf("west"))}, true, nil},
		{"off, never found before, another vCenter in trouble", ours(), states{stateOf("east", power(inventory.PowerOff)), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"off, last found in a vCenter in trouble", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("west/vm-1")), states{stateOf("east", power(inventory.PowerOff)), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"on, last found in a vCenter in trouble", aNode("node-1", withProviderID("vsphere://"+uuidA), untainted, withRecord("west/vm-1")), states{stateOf("east", power(inventory.PowerOn)), failing(stateOf("west"))}, false, topology.ErrUnknown},
		{"off here, on there", ours(), states{stateOf("east", power(inventory.PowerOff)), stateOf("west", power(inventory.PowerOn))}, false, nil},
		{"two VMs run", ours(), states{stateOf("east", power(inventory.PowerOn)), stateOf("west", power(inventory.PowerOn))}, false, topology.ErrAmbiguous},
		{"absent", ours(), states{stateOf("east")}, false, topology.ErrAbsent},
		{"a provider ID that says nothing", aNode("n", withProviderID("vsphere://x")), states{stateOf("east")}, false, topology.ErrUnknown},
		{"another provider's", aNode("n", withProviderID(foreignID), withSystemUUID(uuidA)), states{stateOf("east", power(inventory.PowerOff))}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := provide(c.states)
			down, err := p.placer.IsShutDown(c.node)
			if shown, failed := p.InstanceShutdown(t.Context(), c.node); shown != down || failed != nil {
				t.Errorf("InstanceShutdown = %t, %v, want %t as IsShutDown returns", shown, failed, down)
			}
			if p.placer.IsForeign(c.node) {
				err = nil
			}
			if down != c.down || !errors.Is(err, c.err) {
				t.Errorf("IsShutDown = %t, %v, want %t and the error %v", down, err, c.down, c.err)
			}
		})
	}
}

// complete is the metadata of a Node on newVM(uuidA).
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
		Zone:   "a", AdditionalLabels: map[string]string{},
	}
}

func TestMetadataOfANewNode(t *testing.T) {
	guest := "56492e42-22ad-3911-6d72-59cc8f26bc90" // uuidA in the byte order of some guests
	for name, node := range map[string]*v1.Node{
		"by system UUID":             aNode("n", withSystemUUID(uuidA)),
		"by UUID in the other order": aNode("n", withSystemUUID(guest)),
		"by provider ID":             aNode("n", withProviderID("vsphere://"+uuidA)),
		"by name":                    aNode("node-1"),
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := provide(states{stateOf("east", newVM(uuidB, func(m *inventory.VM) { m.HostName = "node-2" })), stateOf("west", newVM(uuidA))})
			got, err := p.InstanceMetadata(t.Context(), node)
			if diff := cmp.Diff(complete(), got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// TestMetadataOfANewNodeIsCompleteOrNothing: after an error the framework would retry at growing intervals, and after
// incomplete metadata it would remove the taint.
func TestMetadataOfANewNodeIsCompleteOrNothing(t *testing.T) {
	node := aNode("node-1", withSystemUUID(uuidA))
	twoZones := pathOf("east", "a")
	cluster := twoZones[0].Objects[1]
	cluster.Tags = append(cluster.Tags, topology.Tag{Category: "k8s-zone", Name: "b"})
	unreadTags := pathOf("east", "a")
	unreadTags[0].Objects[0].TagsErr = errors.New("503")
	unread := stateOf("east", newVM(uuidA))
	clear(unread.Snapshot.VMs)

	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		// reason is the reason of the Event.
		reason string
	}{
		{"no zone", node, states{stateOf("east", newVM(uuidA, in("east", "")))}, "TopologyMissing"},
		{"no region", node, states{stateOf("east", newVM(uuidA, in("", "a")))}, "TopologyMissing"},
		{"a zone that is no label value", node, states{stateOf("east", newVM(uuidA, in("east", "zone a")))}, "TopologyInvalid"},
		{"two zones", node, states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.Paths = twoZones }))}, "Ambiguous"},
		{"tags not read", node, states{stateOf("east", newVM(uuidA, func(m *inventory.VM) { m.Paths = unreadTags }))}, "VCenterDataUnavailable"},
		{"two VMs run", node, states{stateOf("east", newVM(uuidA)), stateOf("west", newVM(uuidA))}, "Ambiguous"},
		{"no address", node, states{stateOf("east", newVM(uuidA, withoutAddress))}, "AddressMissing"},
		{"off, and the kubelet has --node-ip", withNodeIP(aNode("node-1", withSystemUUID(uuidA)), "10.0.0.1"), states{stateOf("east", newVM(uuidA, withoutAddress, withPower(inventory.PowerOff)))}, "VMPoweredOff"},
		{"off when its host was disconnected", node, states{stateOf("east", newVM(uuidA, withPower(inventory.PowerUnknown), func(m *inventory.VM) { m.WasOff = true }))}, "VCenterDataUnavailable"},
		{"absent", node, states{stateOf("east"), stateOf("west")}, "VMNotFound"},
		{"a vCenter in trouble", node, states{stateOf("east"), failing(stateOf("west"))}, "VCenterUnreachable"},
		{"nothing read yet", node, states{{VCenter: "east"}, {VCenter: "west"}}, "VCenterDataUnavailable"},
		{"details not read yet", node, states{unread}, "VCenterDataUnavailable"},
		{"a provider ID that says nothing", aNode("node-1", withProviderID("vsphere://x"), withSystemUUID(uuidA)), states{stateOf("east", newVM(uuidA))}, "VCenterDataUnavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := provide(c.states)
			if got, err := p.InstanceMetadata(t.Context(), c.node); got != nil || err != nil {
				t.Errorf("%+v, %v, want nothing at all", got, err)
			}
			if err := p.placer.Decide(c.node).Err; err == nil || report.OutcomeOfError(err).Event != c.reason {
				t.Errorf("%v is reported as %s, want %s", err, report.OutcomeOfError(err).Event, c.reason)
			}
		})
	}
}

// TestMetadataOfAnInitializedNode contains addresses if they change.
func TestMetadataOfAnInitializedNode(t *testing.T) {
	changed, kept := &cloudprovider.InstanceMetadata{NodeAddresses: complete().NodeAddresses}, &cloudprovider.InstanceMetadata{}
	for _, c := range []struct {
		name   string
		node   *v1.Node
		states states
		want   *cloudprovider.InstanceMetadata
		err    error
	}{
		{"found", ours(), states{stateOf("east", newVM(uuidA))}, changed, nil},
		{"found, with no zone", ours(), states{stateOf("east", newVM(uuidA, in("east", "")))}, changed, nil},
		{"found, with a zone that is no label value", ours(), states{stateOf("east", newVM(uuidA, in("east", "zone a")))}, changed, nil},
		{"no address at the moment", ours(), states{stateOf("east", newVM(uuidA, withoutAddress))}, kept, nil},
		{"the same addresses", withStatus(ours(), complete().NodeAddresses...), states{stateOf("east", newVM(uuidA))}, kept, nil},
		{"none that the Node may have", withNodeIP(ours(), "10.9.9.9"), states{stateOf("east", newVM(uuidA))}, nil, addresses.ErrNone},
		{"none at the moment, and a kubelet with --node-ip", withNodeIP(ours(), "10.9.9.9"), states{stateOf("east", newVM(uuidA, withoutAddress))}, kept, nil},
		{"absent", ours(), states{stateOf("east")}, kept, nil},
		{"a vCenter in trouble", ours(), states{failing(stateOf("east"))}, kept, nil},
		{"a vCenter that is not read yet", ours(), states{{VCenter: "east"}}, kept, nil},
		{"two VMs run", ours(), states{stateOf("east", newVM(uuidA)), stateOf("west", newVM(uuidA))}, kept, nil},
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

// TestNodesOfAnotherProvider are ignored even if vSphere has a VM with their UUID.
func TestNodesOfAnotherProvider(t *testing.T) {
	p, _ := provide(states{stateOf("east", newVM(uuidA))})
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

// TestContradiction compares both byte orders and ignores invalid UUIDs.
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
		"another VM's":        {"vsphere://" + uuidA, uuidB, true},
		"another, in braces":  {"vsphere://" + uuidA, "{" + uuidB + "}", true},
		"another one swapped": {"vsphere://" + uuidA, mustUUID(uuidB).Swapped().String(), true},
	} {
		t.Run(name, func(t *testing.T) {
			err := nodeinfo.Contradiction(aNode("n", withProviderID(c.providerID), withSystemUUID(c.systemUUID)))
			if c.want != errors.Is(err, nodeinfo.ErrContradiction) || c.want != errors.Is(err, topology.ErrUnknown) || c.want != (err != nil) {
				t.Errorf("Contradiction(%q, %q) = %v, want a contradiction: %t", c.providerID, c.systemUUID, err, c.want)
			}
		})
	}
}

// TestANodeThatContradictsItself gets nothing of either VM. Only the VM of its provider ID decides about its deletion.
func TestANodeThatContradictsItself(t *testing.T) {
	a := newVM(uuidA)
	b := newVM(uuidB, in("east", "b"))
	off := newVM(uuidA, withPower(inventory.PowerOff))
	for name, c := range map[string]struct {
		states states
		exists bool
	}{
		"both VMs run":              {states{stateOf("east", a, b)}, true},
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
					t.Errorf("InstanceExists = %t, %v, want %t", exists, err, c.exists)
				}
				if down, err := p.placer.IsShutDown(n); down || !errors.Is(err, nodeinfo.ErrContradiction) {
					t.Errorf("IsShutDown = %t, %v, want false and ErrContradiction", down, err)
				}
				// An uninitialized Node gets nothing, an initialized one unchanged metadata.
				want := &cloudprovider.InstanceMetadata{}
				if nodeinfo.IsUninitialized(n) {
					want = nil
				}
				m, err := p.InstanceMetadata(t.Context(), n)
				if err != nil {
					t.Errorf("InstanceMetadata: %v", err)
				}
				if diff := cmp.Diff(want, m); diff != "" {
					t.Errorf("InstanceMetadata (-want +got):\n%s", diff)
				}
				if place := p.placer.Decide(n); place.VM != nil || report.OutcomeOfError(place.PlaceErr).Event != "ProviderIDMismatch" {
					t.Errorf("Decide: VM %+v, error %v, want none and ProviderIDMismatch", place.VM, place.PlaceErr)
				}
			}
		})
	}
}

// TestWhereAContradictionWasFound: the location is recorded, because it decides whether the Node may be deleted.
func TestWhereAContradictionWasFound(t *testing.T) {
	alone(t, &fakeFleet{states: states{stateOf("east", newVM(uuidA), newVM(uuidB))}}, func(c *cluster) {
		c.pass(delayRunning)
		c.wantEvents("node-1 ProviderIDMismatch")
		if seen, n := c.lastSeen("uid-node-1"), c.node("node-1"); seen.VCenter != "east" || n.Annotations[nodeinfo.KeyVM] != "east/vm-1" || n.Labels[nodeinfo.KeyInitialized] != "" {
			t.Errorf("seen %+v, annotated %v, labeled %v", seen, n.Annotations, n.Labels)
		}
	}, aNode("node-1", withProviderID("vsphere://"+uuidA), withSystemUUID(uuidB), untainted))
}

// TestAQuietVCenterIsAsked, and its answer initializes its Node.
func TestAQuietVCenterIsAsked(t *testing.T) {
	s := stateOf("east", newVM(uuidA))
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

// TestASnapshotThatIsTooOld initializes no Node, because it may be older than a vMotion.
func TestASnapshotThatIsTooOld(t *testing.T) {
	const short, long = 4*time.Minute + 50*time.Second, 5*time.Minute + time.Second
	for name, c := range map[string]struct {
		age    time.Duration
		err    error
		placed bool
		says   string
	}{
		"in contact":               {0, nil, true, ""},
		"unreachable for a while":  {short, errRejected, true, ""},
		"unreachable for too long": {long, errRejected, false, "connection refused"},
		// For example, the daemon's own VM was suspended.
		"quiet for too long": {long, nil, false, "checking whether the vCenter still answers"},
	} {
		t.Run(name, func(t *testing.T) {
			s := stateOf("west", newVM(uuidA))
			s.Err = c.err
			s.LastContact = time.Now().Add(-c.age)
			p, fleet := provide(states{s})
			fleet.quiet = true
			node := aNode("node-1", withSystemUUID(uuidA))
			metadata, err := p.InstanceMetadata(t.Context(), node)
			if err != nil || (metadata != nil) != c.placed {
				t.Errorf("InstanceMetadata = %+v, %v, want metadata: %t", metadata, err, c.placed)
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
			// An initialized Node keeps its data, and its VM exists.
			if exists, err := p.InstanceExists(t.Context(), ours()); !exists || err != nil {
				t.Errorf("InstanceExists of a running Node = %t, %v, want true", exists, err)
			}
		})
	}
}

func ready(status v1.ConditionStatus) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: status}}
	}
}

// TestAskedAboutANodeThatIsLeftOut: the caller does not list Nodes through our cache.
func TestAskedAboutANodeThatIsLeftOut(t *testing.T) {
	fleet := &fakeFleet{confirm: nobody, states: states{stateOf("east", newVM(uuidB, withPower(inventory.PowerOff)))}}
	omitted := []*v1.Node{gone(), aNode("down", withProviderID("vsphere://"+uuidB), untainted, silent)}
	withBoth(t, fleet, "cloud=vsphere", func(c *cluster) {
		if own, err := c.provider.NodeInformer().Lister().List(labels.Everything()); err != nil || len(own) > 0 {
			t.Errorf("the framework's lister returns %v, %v, want no Node", own, err)
		}
		for _, ids := range fleet.followed() {
			if len(ids) > 0 {
				t.Errorf("followed: %v", ids)
			}
		}
		for _, n := range omitted {
			if exists, err := c.provider.InstanceExists(c.ctx, n); !exists || err != nil {
				t.Errorf("InstanceExists(%s) = %t, %v, want true", n.Name, exists, err)
			}
			if down, err := c.provider.InstanceShutdown(c.ctx, n); down || err != nil {
				t.Errorf("InstanceShutdown(%s) = %t, %v, want false", n.Name, down, err)
			}
			if _, err := c.provider.NodeInformer().Lister().Get(n.Name); !apierrors.IsNotFound(err) {
				t.Errorf("%s is there: %v", n.Name, err)
			}
		}
	}, omitted...)
}

// TestAddressesInAVCenterThatIsLeaving: the configuration is applied to the provider before the fleet.
func TestAddressesInAVCenterThatIsLeaving(t *testing.T) {
	p, _ := provide(states{stateOf("east", newVM(uuidA))})
	n := aNode("n", withSystemUUID(uuidA))
	if m, err := p.InstanceMetadata(t.Context(), n); err != nil || m == nil {
		t.Fatalf("InstanceMetadata before the vCenter leaves = %+v, %v, want metadata", m, err)
	}
	cfg := testConfig()
	cfg.VCenters = cfg.VCenters[1:]
	p.Apply(cfg)
	if m, err := p.InstanceMetadata(t.Context(), n); m != nil {
		t.Errorf("InstanceMetadata after the vCenter left = %+v, %v, want nil: there is no address", m, err)
	}
}

// TestLabelsForEveryNode: levels take precedence over the configured labels.
func TestLabelsForEveryNode(t *testing.T) {
	p, _ := provide(states{stateOf("east", newVM(uuidA)), stateOf("west")})
	cfg := testConfig()
	cfg.NodeLabels = map[string]string{"example.com/site": "one", "example.com/zone": "none"}
	cfg.Topology.Policy.Levels = topology.Rules{{Label: "example.com/zone", Category: "k8s-zone"}}
	p.Apply(cfg)
	m, err := p.InstanceMetadata(t.Context(), aNode("n", withSystemUUID(uuidA)))
	if err != nil || m == nil {
		t.Fatalf("InstanceMetadata = %+v, %v, want metadata", m, err)
	}
	if want := map[string]string{"example.com/site": "one", "example.com/zone": "a"}; !maps.Equal(m.AdditionalLabels, want) {
		t.Errorf("InstanceMetadata: additional labels %v, want %v", m.AdditionalLabels, want)
	}
	// Kubernetes 1.38 can write the additional labels of initialized Nodes again, whatever the drift policy.
	drifted := ours()
	drifted.Labels = map[string]string{"example.com/zone": "b"}
	if m, err = p.InstanceMetadata(t.Context(), drifted); err != nil || m == nil || len(m.AdditionalLabels) > 0 {
		t.Errorf("InstanceMetadata of an initialized Node = %+v, %v, want no additional labels", m, err)
	}
	if cfg.NodeLabels["example.com/zone"] != "none" {
		t.Error("the configuration has changed")
	}
}
