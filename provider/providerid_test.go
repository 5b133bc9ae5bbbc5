package provider

import (
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

// TestProviderIDForm: the form is stored in clusters for good.
func TestProviderIDForm(t *testing.T) {
	if got, want := providerID(mustUUID(strings.ToUpper(uuidA))), "vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseProviderID(t *testing.T) {
	for _, id := range []string{
		"vsphere://" + uuidA,
		"vsphere://" + strings.ToUpper(uuidA),
		"vsphere://" + strings.ReplaceAll(uuidA, "-", ""),
	} {
		if u, err := parseProviderID(id); err != nil || u != mustUUID(uuidA) || isForeignID(id) {
			t.Errorf("%s is %s, %v, foreign %v", id, u, err, isForeignID(id))
		}
	}
	for id, foreign := range map[string]bool{
		"":                    false, // none yet
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
		if isForeignID(id) != foreign {
			t.Errorf("%q foreign: %v", id, isForeignID(id))
		}
		if u, err := parseProviderID(id); err == nil {
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
		u, err := parseProviderID(id)
		if err != nil {
			return
		}
		if isForeignID(id) {
			t.Errorf("%q is foreign and %s", id, u)
		}
		if u == (inventory.UUID{}) {
			t.Errorf("%q is no machine", id)
		}
		if again, err := parseProviderID(providerID(u)); err != nil || again != u {
			t.Errorf("%s became %s, %v", u, again, err)
		}
	})
}
