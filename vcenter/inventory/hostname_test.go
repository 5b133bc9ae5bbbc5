package inventory_test

import (
	"strings"
	"testing"

	"vzones/vcenter/inventory"
)

func TestIsHostName(t *testing.T) {
	label := strings.Repeat("x", 63)
	for name, want := range map[string]bool{
		"n1": true, "N1.example.com": true, "a_b-c": true, "web.1": true, "1a": true, "localhost-1": true, "node.localdomain": true, "loopback": true, "xn--bcher-kva.example": true,
		label: true, strings.Repeat(label+".", 3) + label[:61]: true,

		"localhost": false, "LOCALHOST": false, "localhost.localdomain": false, "localhost.lan": false, "node.localhost": false, "localhost4": false,
		"localhost6.localdomain6": false, "ipv6-localhost": false, "ip6-localhost": false, "ip6-loopback": false, "ipv6-loopback.lan": false,
		"10.0.0.1": false, "127.1": false, "1": false, "fd00::1": false,
		"": false, ".": false, "...": false, ".n1": false, "n1.": false, "a..b": false, "-a": false, "a-": false, "a.-b": false,
		label + "x": false, strings.Repeat(label+".", 3) + label[:62]: false,
		"a b": false, "a\nb": false, "zürich": false, "a/b": false, "*.example.com": false, "(none)": false,
	} {
		if got := inventory.IsHostName(name); got != want {
			t.Errorf("IsHostName(%.80q) = %t, want %t", name, got, want)
		}
	}
}
