package nodeinfo

import (
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

// TestProviderIDForm: the form is stored in clusters for good.
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
		if u, err := ParseProviderID(id); err != nil || u != mustUUID(uuidA) || IsForeign(id) {
			t.Errorf("%s is %s, %v, foreign %v", id, u, err, IsForeign(id))
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
		if IsForeign(id) != foreign {
			t.Errorf("%q foreign: %v", id, IsForeign(id))
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
		if IsForeign(id) {
			t.Errorf("%q is foreign and %s", id, u)
		}
		if u == (inventory.UUID{}) {
			t.Errorf("%q is no machine", id)
		}
		if again, err := ParseProviderID(ProviderID(u)); err != nil || again != u {
			t.Errorf("%s became %s, %v", u, again, err)
		}
	})
}

// FuzzProviderIDOfUUID: from any machine to its provider ID and back, however it
// is written.
func FuzzProviderIDOfUUID(f *testing.F) {
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"), "")
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"), " \t\n")
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe"), "\u00a0")
	f.Fuzz(func(t *testing.T, b []byte, blank string) {
		if len(b) != 16 || strings.TrimSpace(blank) != "" {
			return
		}
		u := inventory.UUID(b)
		if _, err := inventory.ParseUUID(u.String()); err != nil {
			return // it identifies no machine
		}
		id := ProviderID(u)
		if id != strings.ToLower(id) || len(id) != len("vsphere://")+36 {
			t.Errorf("%v has the ID %q", b, id)
		}
		plain := strings.TrimPrefix(id, scheme)
		for _, form := range []string{plain, strings.ToUpper(plain), "{" + plain + "}", blank + plain + blank, "{" + blank + plain + blank + "}", strings.ReplaceAll(plain, "-", "")} {
			got, err := ParseProviderID(scheme + form)
			if err != nil || got != u || ProviderID(got) != id || IsForeign(scheme+form) {
				t.Errorf("%q is %s, %v", form, got, err)
			}
		}
	})
}
