package inventory_test

import (
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

func mustUUID(t testing.TB, s string) inventory.UUID {
	t.Helper()
	u, err := inventory.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestParseUUID(t *testing.T) {
	const want = "422e4956-ad22-1139-6d72-59cc8f26bc90"
	for name, s := range map[string]string{
		"as vSphere writes it":   want,
		"upper case":             strings.ToUpper(want),
		"mixed case":             "422E4956-ad22-1139-6D72-59cc8f26BC90",
		"no dashes":              strings.ReplaceAll(want, "-", ""),
		"braces":                 "{" + want + "}",
		"braces, no dashes":      "{" + strings.ReplaceAll(want, "-", "") + "}",
		"blanks around it":       " \t" + want + "\n",
		"blanks inside braces":   "{ " + want + " }",
		"blanks outside, braces": " {" + strings.ToUpper(want) + "} ",
	} {
		t.Run(name, func(t *testing.T) {
			u, err := inventory.ParseUUID(s)
			if err != nil || u.String() != want {
				t.Errorf("ParseUUID(%q) = %s, %v", s, u, err)
			}
		})
	}
	for name, s := range map[string]string{
		"nothing":                 "",
		"blanks":                  "  ",
		"empty braces":            "{}",
		"one brace":               "{",
		"an open brace":           "{" + want,
		"a digit short":           want[1:],
		"a digit more":            want + "0",
		"no hex digit":            "g" + want[1:],
		"dashes elsewhere":        "4-22e4956ad22-1139-6d72-59cc8f26bc90",
		"one dash":                "422e4956-ad2211396d7259cc8f26bc90",
		"a dash for each digit":   strings.Repeat("-", 36),
		"VMware's serial number":  "VMware-42 2e 49 56 ad 22 11 39-6d 72 59 cc 8f 26 bc 90",
		"two bytes for one digit": "é2e4956-ad22-1139-6d72-59cc8f26bc90",
		"firmware's text":         "Not Settable",
		"a URN":                   "urn:uuid:" + want,
		"two pairs of braces":     "{{" + want + "}}",
		"all zeros":               "00000000-0000-0000-0000-000000000000",
		"all ones":                "ffffffff-ffff-ffff-ffff-ffffffffffff",
		"all ones, upper case":    "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
	} {
		t.Run(name, func(t *testing.T) {
			if u, err := inventory.ParseUUID(s); err == nil || u != (inventory.UUID{}) {
				t.Errorf("ParseUUID(%q) = %s, %v", s, u, err)
			}
		})
	}
}

// TestSwapped compares a UUID in a guest's SMBIOS with its form in vSphere.
func TestSwapped(t *testing.T) {
	guest, vsphere := mustUUID(t, "56492e42-22ad-3911-6d72-59cc8f26bc90"), mustUUID(t, "422e4956-ad22-1139-6d72-59cc8f26bc90")
	if guest.Swapped() != vsphere || vsphere.Swapped() != guest {
		t.Errorf("%s swapped is %s, %s is %s", guest, guest.Swapped(), vsphere, vsphere.Swapped())
	}
}

// FuzzUUID converts UUIDs to text and back.
func FuzzUUID(f *testing.F) {
	f.Add([]byte("\x42\x2e\x49\x56\xad\x22\x11\x39\x6d\x72\x59\xcc\x8f\x26\xbc\x90"))
	f.Add(make([]byte, 16))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 16 {
			return
		}
		u := inventory.UUID(b)
		if u.Swapped().Swapped() != u {
			t.Errorf("%s swapped twice is %s", u, u.Swapped().Swapped())
		}
		got, err := inventory.ParseUUID(u.String())
		if same := strings.Count(string(b), string(b[:1])) == 16; same && (b[0] == 0 || b[0] == 0xff) {
			if err == nil {
				t.Errorf("%s identifies a VM", u)
			}
		} else if err != nil || got != u {
			t.Errorf("ParseUUID(%q) = %s, %v", u.String(), got, err)
		}
	})
}

// FuzzParseUUID parses any text and compares the canonical form.
func FuzzParseUUID(f *testing.F) {
	for _, s := range []string{
		"422e4956-ad22-1139-6d72-59cc8f26bc90", "{422E4956AD2211396D7259CC8F26BC90}", " 422e4956-ad22-1139-6d72-59cc8f26bc90\n",
		"", "{", "}{", strings.Repeat("-", 36), strings.Repeat("0", 32), strings.Repeat("f", 32),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := inventory.ParseUUID(s)
		if err != nil {
			return
		}
		canonical := u.String()
		if again, err := inventory.ParseUUID(canonical); err != nil || again != u {
			t.Errorf("%q is %s, which is %s, %v", s, u, again, err)
		}
		if digits := strings.NewReplacer("-", "", "{", "", "}", "").Replace(strings.ToLower(strings.TrimSpace(s))); strings.TrimSpace(digits) != strings.ReplaceAll(canonical, "-", "") {
			t.Errorf("%q became %s", s, canonical)
		}
	})
}
