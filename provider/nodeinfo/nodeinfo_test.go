package nodeinfo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	uuidA = "422e4956-ad22-1139-6d72-59cc8f26bc90"
	uuidB = "422e4956-ad22-1139-6d72-000000000002"
)

func mustUUID(s string) inventory.UUID {
	u, err := inventory.ParseUUID(s)
	if err != nil {
		panic(err)
	}
	return u
}

func aNode(changes ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: v1.NodeSpec{
		Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: v1.TaintEffectNoSchedule}},
	}}
	for _, change := range changes {
		change(n)
	}
	return n
}

func withSystemUUID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Status.NodeInfo.SystemUUID = s }
}

func withProviderID(s string) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.ProviderID = s }
}

// TestProviderIDForm: running clusters store the format.
func TestProviderIDForm(t *testing.T) {
	if got, want := ProviderID(mustUUID(strings.ToUpper(uuidA))), "vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseProviderID(t *testing.T) {
	for _, id := range []string{
		"vsphere://" + uuidA,
		"vsphere://" + strings.ToUpper(uuidA),
		"vsphere://" + strings.ReplaceAll(uuidA, "-", ""),
	} {
		if u, err := ParseProviderID(id); err != nil || u != mustUUID(uuidA) || IsOtherProviders(id) {
			t.Errorf("%s is %s, %v, foreign %v", id, u, err, IsOtherProviders(id))
		}
	}
	for id, foreign := range map[string]bool{
		"":                    false,
		"vsphere://":          false,
		"vsphere://node-1":    false,
		"vsphere:///" + uuidA: false,
		"vsphere://00000000-0000-0000-0000-000000000000": false,
		"vsphere:/" + uuidA:                 true,
		"vspherex://" + uuidA:               true,
		"aws:///eu-central-1a/i-0abcdef":    true,
		"openstack:///" + uuidA:             true,
		"kubevirt://" + uuidA:               true,
		"metal3://" + uuidA:                 true,
		"providerless://vsphere://" + uuidA: true,
		uuidA:                               true,
	} {
		if IsOtherProviders(id) != foreign {
			t.Errorf("%q foreign: %v", id, IsOtherProviders(id))
		}
		if u, err := ParseProviderID(id); err == nil {
			t.Errorf("%q is %s", id, u)
		} else if !strings.Contains(err.Error(), `"`+id+`"`) {
			t.Errorf("the error does not name %q: %v", id, err)
		}
	}
}

func FuzzProviderID(f *testing.F) {
	f.Add("vsphere://" + uuidA)
	f.Add("vsphere://{" + strings.ToUpper(uuidA) + "}")
	f.Add("aws:///a/i-1")
	f.Add("vsphere://")
	f.Fuzz(func(t *testing.T, id string) {
		u, err := ParseProviderID(id)
		if err != nil {
			return
		}
		if IsOtherProviders(id) {
			t.Errorf("%q is foreign and %s", id, u)
		}
		if u == (inventory.UUID{}) {
			t.Errorf("%q is no VM", id)
		}
		if again, err := ParseProviderID(ProviderID(u)); err != nil || again != u {
			t.Errorf("ParseProviderID(%q) = %s, %v, want %s", ProviderID(u), again, err, u)
		}
	})
}

// FuzzProviderIDOfUUID: from a VM to its provider ID and back, for every spelling.
func FuzzProviderIDOfUUID(f *testing.F) {
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"), "")
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"), " \t\n")
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"), "\u00a0")
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"), strings.Repeat(" ", 14)) // 64 bytes
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"), strings.Repeat(" ", 15))
	f.Fuzz(func(t *testing.T, b []byte, blank string) {
		if len(b) != 16 || strings.TrimSpace(blank) != "" {
			return
		}
		u := inventory.UUID(b)
		if _, err := inventory.ParseUUID(u.String()); err != nil {
			// This UUID identifies no VM.
			return
		}
		id := ProviderID(u)
		if id != strings.ToLower(id) || len(id) != len("vsphere://")+36 {
			t.Errorf("%v has the ID %q", b, id)
		}
		plain := strings.TrimPrefix(id, scheme)
		for _, form := range []string{plain, strings.ToUpper(plain), "{" + plain + "}", blank + plain + blank, "{" + blank + plain + blank + "}", strings.ReplaceAll(plain, "-", "")} {
			got, err := ParseProviderID(scheme + form)
			if len(form) > inventory.MaxUUIDLength {
				if err == nil {
					t.Errorf("%q is %s, though it has %d bytes", form, got, len(form))
				}
				continue
			}
			if err != nil || got != u || ProviderID(got) != id || IsOtherProviders(scheme+form) {
				t.Errorf("parsing the form %q = %s, %v, want %s", form, got, err, u)
			}
		}
	})
}

func TestIdentify(t *testing.T) {
	const palindrome = "42424242-2222-1111-6d72-59cc8f26bc90"
	a, b := mustUUID(uuidA), mustUUID(uuidB)
	for name, c := range map[string]struct {
		node *v1.Node
		want []inventory.UUID
	}{
		"provider ID":                 {aNode(withProviderID("vsphere://" + uuidA)), []inventory.UUID{a}},
		"provider ID before UUID":     {aNode(withProviderID("vsphere://"+uuidA), withSystemUUID(uuidB)), []inventory.UUID{a}},
		"UUID in both orders":         {aNode(withSystemUUID(uuidB)), []inventory.UUID{b, b.Swapped()}},
		"UUID, upper case":            {aNode(withSystemUUID("422E4956-AD22-1139-6D72-59CC8F26BC90")), []inventory.UUID{a, a.Swapped()}},
		"UUID that reads both ways":   {aNode(withSystemUUID(palindrome)), []inventory.UUID{mustUUID(palindrome)}},
		"no UUID":                     {aNode(), nil},
		"firmware without UUID":       {aNode(withSystemUUID("00000000-0000-0000-0000-000000000000")), nil},
		"firmware with text for UUID": {aNode(withSystemUUID("Not Settable")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := IdentityOf(c.node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inventory.Identity{UUIDs: c.want, Name: "n", IsJoining: true}, got); diff != "" {
				t.Errorf("IdentityOf a Node with the taint (-want +got):\n%s", diff)
			}
			c.node.Spec.Taints = nil
			got, err = IdentityOf(c.node)
			if err != nil || got.IsJoining {
				t.Errorf("IdentityOf the Node without the taint: joins %t, error %v, want false and none", got.IsJoining, err)
			}
		})
	}
}

// TestRecordOfANode: the location is read once vzones can have written it.
func TestRecordOfANode(t *testing.T) {
	recorded := func(n *v1.Node) { n.Annotations = map[string]string{KeyVM: "east/vm-1", KeyVCenter: "instance"} }
	untainted := func(n *v1.Node) { n.Spec.Taints = nil }
	for name, c := range map[string]struct {
		node *v1.Node
		want bool
	}{
		"provider ID":               {aNode(withProviderID("vsphere://"+uuidA), recorded), true},
		"neither ID nor taint":      {aNode(withSystemUUID(uuidA), recorded, untainted), true},
		"the taint and no ID":       {aNode(withSystemUUID(uuidA), recorded), false},
		"neither ID nor UUID":       {aNode(recorded, untainted), false},
		"another provider's ID too": {aNode(withProviderID("aws:///i-1"), withSystemUUID(uuidA), recorded), false},
	} {
		// Another provider's ID is an error without a location.
		id, _ := IdentityOf(c.node)
		if got := id.Recorded.ID == "vm-1" && id.RecordedInstance == "instance"; got != c.want || id.WasFound() != c.want {
			t.Errorf("%s: recorded as %+v in %q, want one: %t", name, id.Recorded, id.RecordedInstance, c.want)
		}
	}
}

// TestIdentifyNeverTakesAnother: an invalid provider ID of ours has no fallback to the UUID or the name.
func TestIdentifyNeverTakesAnother(t *testing.T) {
	for _, id := range []string{"vsphere://", "vsphere://node-1", "vsphere://ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		got, err := IdentityOf(aNode(withProviderID(id), withSystemUUID(uuidA)))
		if !errors.Is(err, topology.ErrUnknown) || len(got.UUIDs) > 0 || got.Name != "" {
			t.Errorf("IdentityOf a Node with the provider ID %s = %+v, %v, want no UUID, no name and an error", id, got, err)
		}
	}
}

func TestLocationForms(t *testing.T) {
	for s, want := range map[string]topology.Ref{
		"east/vm-1":    {VCenter: "east", Type: "VirtualMachine", ID: "vm-1"},
		"a/b/vm-1":     {VCenter: "a/b", Type: "VirtualMachine", ID: "vm-1"},
		"10.0.0.1/vm1": {VCenter: "10.0.0.1", Type: "VirtualMachine", ID: "vm1"},
		"":             {}, "/": {}, "east": {}, "east/": {}, "/vm-1": {},
		// A kubelet may have invented it; only a vCenter can tell that there is no domain-c1.
		"east/domain-c1": {VCenter: "east", Type: "VirtualMachine", ID: "domain-c1"},
		"east/vm 1":      {}, "east/<vm-1>": {}, "east/vm-1\n": {}, "east/vm-1\x00": {}, "east/vm-é": {},
		"east/" + strings.Repeat("1", objectIDMax):   {VCenter: "east", Type: "VirtualMachine", ID: strings.Repeat("1", objectIDMax)},
		"east/" + strings.Repeat("1", objectIDMax+1): {},
		strings.Repeat("e", locationMax-5) + "/vm-1": {VCenter: strings.Repeat("e", locationMax-5), Type: "VirtualMachine", ID: "vm-1"},
		strings.Repeat("e", locationMax-4) + "/vm-1": {},
		strings.Repeat("east/", 100_000) + "vm-1":    {},
	} {
		if got := ParseLocation(s); got != want {
			t.Errorf("%q is %+v", s, got)
		}
	}
}

// FuzzLocation: from a location to a VM and back, and vice versa.
func FuzzLocation(f *testing.F) {
	for _, s := range []string{"east/vm-1", "a/b/vm-2", "//vm-3", "east/", "/vm-4", "", "é/vm 5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ref := ParseLocation(s)
		if ref == (topology.Ref{}) {
			return
		}
		if ref.VCenter == "" || ref.ID == "" || ref.Type != "VirtualMachine" {
			t.Errorf("%q is %+v", s, ref)
		}
		if got := FormatLocation(ref); got != s {
			t.Errorf("%q became %q", s, got)
		}
		if again := ParseLocation(FormatLocation(ref)); again != ref {
			t.Errorf("%+v became %+v", ref, again)
		}
	})
}

// FuzzAnnotations: whatever a kubelet writes into our annotations, the location is bounded or rejected.
func FuzzAnnotations(f *testing.F) {
	f.Add("east/vm-1", "62000000-1111-4222-8333-444444444444", uuidA)
	f.Add("a/b/vm-1", "", "no UUID")
	f.Add("/", strings.Repeat("x", 600), "{}")
	f.Fuzz(func(t *testing.T, location, instance, vm string) {
		n := &v1.Node{}
		n.Spec.ProviderID = "vsphere://" + uuidA
		n.Annotations = map[string]string{KeyVM: location, KeyVCenter: instance, KeyInstanceUUID: vm}
		id, err := IdentityOf(n)
		if err != nil {
			return
		}
		if len(id.Recorded.VCenter) > locationMax || len(id.Recorded.ID) > objectIDMax || len(id.RecordedInstance) > instanceMax {
			t.Errorf("IdentityOf a Node with the annotations %q and %q: recorded VM %+v, instance %q, want neither as long", location, instance, id.Recorded, id.RecordedInstance)
		}
		if u, err := inventory.ParseUUID(vm); err == nil && len(vm) <= instanceMax && u != id.RecordedVM {
			t.Errorf("the instance UUID of %q is %v", vm, id.RecordedVM)
		}
	})
}

// TestWithRemedy: the advice to delete a Node is only for a Node that is not ready and that vzones does not delete.
func TestWithRemedy(t *testing.T) {
	absent := topology.Errorf(topology.ErrAbsent, "no VM")
	ready := v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}
	for name, c := range map[string]struct {
		status       v1.NodeStatus
		wasFound     bool
		keeps        bool
		noProviderID bool
		want         string
	}{
		"ready":                                   {status: ready, want: "the Node is ready"},
		"ready, found before":                     {status: ready, wasFound: true, want: "the Node is ready"},
		"not ready, found before":                 {wasFound: true, want: "vzones deletes the Node once"},
		"not ready, found before, no deletion":    {wasFound: true, keeps: true, want: "if the VM is gone, delete the Node"},
		"not ready, found before, no provider ID": {wasFound: true, noProviderID: true, want: "if the VM is gone, delete the Node"},
		"not ready, never found":                  {want: "if the VM is gone, delete the Node"},
	} {
		node := &v1.Node{Spec: v1.NodeSpec{ProviderID: "vsphere://42000000-0000-4000-8000-000000000001"}, Status: c.status}
		if c.noProviderID {
			node.Spec.ProviderID = ""
		}
		if got := WithRemedy(node, c.wasFound, !c.keeps, absent).Error(); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want it to contain %q", name, got, c.want)
		}
	}
}
