package nodeinfo

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"vzones/topology"
	"vzones/vcenter/inventory"
)

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
			if diff := cmp.Diff(inventory.Identity{UUIDs: c.want, Name: "n"}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIdentifyNeverTakesAnother: a provider ID of ours that says nothing is not
// passed over for the UUID or the name.
func TestIdentifyNeverTakesAnother(t *testing.T) {
	for _, id := range []string{"vsphere://", "vsphere://node-1", "vsphere://ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		got, err := IdentityOf(aNode(withProviderID(id), withSystemUUID(uuidA)))
		if !errors.Is(err, topology.ErrUnknown) || len(got.UUIDs) > 0 || got.Name != "" {
			t.Errorf("%s is %v, %v", id, got, err)
		}
	}
}
