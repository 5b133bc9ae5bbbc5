package record

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

// Equal words stay equal in every text, and each replacement has the shape of the original.
func TestNames(t *testing.T) {
	n := newNames([32]byte{3})
	shape := func(s string) string {
		s = regexp.MustCompile(`[a-z]`).ReplaceAllString(s, "a")
		return regexp.MustCompile(`[0-9]`).ReplaceAllString(regexp.MustCompile(`[A-Z]`).ReplaceAllString(s, "A"), "0")
	}
	for _, s := range []string{"Prod-East 01", "rack_7", "esx-01.dc2.example.com", "a", "Zürich", "機房-1", "DPortGroup %2f vlan 12"} {
		got := n.text(s)
		if got == s || len(got) != len(s) || shape(strings.ReplaceAll(got, "%2f", "")) != shape(strings.ReplaceAll(s, "%2f", "")) && s[0] < 0x80 && !strings.Contains(s, "ü") {
			t.Errorf("%q is replaced by %q, which has another shape", s, got)
		}
	}
	for _, test := range []struct{ whole, separator, first, second string }{
		{"node-1.example.com", ".", "node-1", "example.com"},
		{"/dc-1/host/Cluster A", "/host/", "/dc-1", "Cluster A"},
		{"east-zone7", "-", "east", "zone7"},
		{"vsphere://422e4956-ad22-1139-6d2c-8e3d0a5e9f10", "://", "vsphere", "422E4956-AD22-1139-6D2C-8E3D0A5E9F10"},
	} {
		want := n.text(test.first) + test.separator + n.text(test.second)
		if got := n.text(test.whole); !strings.EqualFold(got, want) {
			t.Errorf("%q is replaced by %q, want %q from its parts", test.whole, got, want)
		}
	}
	if lower, upper := n.text("example"), n.text("EXAMPLE"); strings.ToUpper(lower) != upper {
		t.Errorf("a word is replaced by %q, and in upper case by %q", lower, upper)
	}
	seen := map[string]string{}
	for i := range 1000 {
		s := fmt.Sprintf("%c%d", 'a'+i%26, i)
		if before := seen[n.text(s)]; before != "" {
			t.Fatalf("%q and %q are replaced by the same %q", before, s, n.text(s))
		}
		seen[n.text(s)] = s
	}
}

func TestHostNameOfEveryHostIsOmitted(t *testing.T) {
	n := newNames([32]byte{6})
	for name, isRecorded := range map[string]bool{"node-1.example.com": true, "localhost4": false, "ip6-localhost": false, "localhost.localdomain": false} {
		if got := writeHostName(n, name); (got != nil) != isRecorded {
			t.Errorf("host name %q: recorded as %v, want recorded: %t", name, got, isRecorded)
		}
	}
}

func TestUUIDsAreReplacedInBothByteOrders(t *testing.T) {
	n := newNames([32]byte{4})
	random := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		var u inventory.UUID
		for i := range u {
			u[i] = byte(1 + random.IntN(2)) // Some are equal in both orders.
		}
		to, swapped := n.uuid(u), n.uuid(u.Swapped())
		if to == u || to.Swapped() != swapped {
			t.Fatalf("%v is replaced by %v, and with swapped bytes by %v", u, to, swapped)
		}
	}
	for _, none := range []string{"00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"} {
		if got := n.text(none); got != none {
			t.Errorf("%s, which identifies no VM, is replaced by %s", none, got)
		}
	}
}

// Two replaced addresses have as many equal leading bits as the originals, and networks with a meaning stay.
func TestAddressesKeepPrefixes(t *testing.T) {
	n := newNames([32]byte{5})
	common := func(a, b netip.Addr) (bits int) {
		for bits = a.BitLen(); bits > 0; bits-- {
			if p := netip.PrefixFrom(a, bits); p.Contains(b) {
				return bits
			}
		}
		return 0
	}
	list := []string{
		"10.0.0.1", "10.0.0.2", "10.0.1.1", "10.128.0.1", "192.168.1.1", "192.168.1.254", "172.16.5.4", "172.32.5.4", "8.8.8.8", "9.9.9.9", "11.0.0.1", "198.18.0.1",
		"fd00::1", "fd00::2", "fd00:1::1", "2001:db8::1", "2001:db8:0:1::1", "fe80::1", "fe80::2",
	}
	for _, s := range list {
		a := netip.MustParseAddr(s)
		to := n.address(a)
		if to == a || a.IsPrivate() != to.IsPrivate() || a.IsLinkLocalUnicast() != to.IsLinkLocalUnicast() || a.IsGlobalUnicast() != to.IsGlobalUnicast() {
			t.Errorf("%v is replaced by %v, which is of another kind", a, to)
		}
		if got := n.text(s); got != to.String() {
			t.Errorf("the text %q is replaced by %q, want %v", s, got, to)
		}
		for _, other := range list {
			if b := netip.MustParseAddr(other); a.BitLen() == b.BitLen() && common(a, b) != common(to, n.address(b)) {
				t.Errorf("%v and %v have %d equal leading bits, and their replacements %d", a, b, common(a, b), common(to, n.address(b)))
			}
		}
	}
	network := netip.MustParsePrefix(n.text("10.0.0.0/24"))
	if !network.Contains(n.address(netip.MustParseAddr("10.0.0.1"))) || network.Contains(n.address(netip.MustParseAddr("10.0.1.1"))) || network != network.Masked() {
		t.Errorf("10.0.0.0/24 is replaced by %v, which does not contain the same addresses", network)
	}
	if got := n.text("127.0.0.1"); got != "127.0.0.1" {
		t.Errorf("127.0.0.1 is replaced by %s", got)
	}
}
