package guestinfo

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func gz(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

const (
	// v2 is a shortened text from Cluster API.
	v2 = `
instance-id: "node-1"
local-hostname: "node-1"
wait-on-network:
  ipv4: false
network:
  version: 2
  ethernets:
    id1:
      match: {macaddress: "00:50:56:00:00:02"}
      set-name: "eth1"
      addresses: ["192.0.2.7/24", "fd00::7/64"]
      gateway4: "192.0.2.1"
      nameservers: {addresses: ["192.0.2.53"]}
    id0:
      dhcp4: true
      addresses:
      - 10.0.0.7/24
      - "10.0.0.8/32": {label: "eth0:vip", lifetime: 0}
      routes: [{to: 0.0.0.0/0, via: 10.0.0.1}]
`
	v1 = `
local-hostname: node-1
network:
  version: 1
  config:
  - type: physical
    name: ens192
    subnets:
    - {type: dhcp}
    - {type: static, address: 10.0.0.7, netmask: 255.255.255.0, gateway: 10.0.0.1}
    - {type: static6, address: "fd00::7/64"}
  - type: nameserver
    address: 10.0.0.53
`
	wantV2 = "192.0.2.7 fd00::7 10.0.0.7 10.0.0.8"
)

func TestAddresses(t *testing.T) {
	inner := "version: 2\nethernets: {a: {addresses: [10.0.0.7/24]}}\n"
	for _, c := range []struct{ name, metadata, want string }{
		{"version 2", v2, wantV2},
		{"version 2, base64", b64(v2), wantV2},
		{"version 2, gzip and base64", b64(gz(v2)), wantV2},
		{"base64 with line breaks", b64(v2)[:40] + "\r\n" + b64(v2)[40:] + "\n", wantV2},
		{"version 1", v1, "10.0.0.7 fd00::7"},
		{"version 1, base64", b64(v1), "10.0.0.7 fd00::7"},
		{"JSON", `{"network":{"ethernets":{"a":{"addresses":["10.0.0.7/24"]}}}}`, "10.0.0.7"},
		{"the network configuration in base64", "network: " + b64(inner) + "\nnetwork.encoding: base64\n", "10.0.0.7"},
		{"the same, gzipped", b64("network: " + b64(gz(inner))), "10.0.0.7"},
		{"the network configuration as text", "network: |\n  " + strings.ReplaceAll(inner, "\n", "\n  "), "10.0.0.7"},
		{"netplan's own key", "network:\n  network:\n    ethernets: {a: {addresses: [10.0.0.7/24]}}", "10.0.0.7"},
		{"bonds after ethernets", "network: {bonds: {b: {addresses: [10.0.0.8/24]}}, ethernets: {a: {addresses: [10.0.0.7/24]}}}", "10.0.0.7 10.0.0.8"},
		{"each address once", "network: {ethernets: {a: {addresses: [10.0.0.7/24, 10.0.0.7]}, b: {addresses: [\"::ffff:10.0.0.7\"]}}}", "10.0.0.7"},
		{"aliases", "x: &a [10.0.0.7/24]\nnetwork: {ethernets: {a: {addresses: *a}}}", "10.0.0.7"},
		{"what is no address", "network: {ethernets: {a: {addresses: [\"${address}\", 7, null, [x], 10.0.0.7/24]}}}", "10.0.0.7"},
		{"what is no network configuration", "network: {ethernets: [a], config: {b: c}, bonds: null, vlans: {v: x}}", ""},
		{"no network configuration", "local-hostname: node-1", ""},
		{"an empty network configuration", "network:\nlocal-hostname: node-1", ""},
		{"DHCP", "network: {ethernets: {a: {dhcp4: true}}}", ""},
		{"nothing", "", ""},
		{"blanks", " \n", ""},
		{"a comment", "# to be done", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Addresses(c.metadata)
			if text := strings.Trim(fmt.Sprint(got), "[]"); err != nil || text != c.want {
				t.Errorf("got %s, %v, want %s", text, err, c.want)
			}
		})
	}
}

// many returns a network configuration with n addresses.
func many(n int) string {
	var b strings.Builder
	b.WriteString("network:\n  version: 2\n  ethernets:\n    id0:\n      addresses:\n")
	for i := range n {
		fmt.Fprintf(&b, "      - 10.1.%d.%d/16\n", i/200, 1+i%200)
	}
	return b.String()
}

// TestLargestThatCount checks that the bounds allow the longest realistic configuration.
func TestLargestThatCount(t *testing.T) {
	text := many(maxAddresses)
	for i := range 20 { // Interfaces with routes, as Cluster API writes them.
		text += fmt.Sprintf("    id%d:\n      match:\n        macaddress: \"00:50:56:00:00:%02x\"\n      set-name: eth%[1]d\n      dhcp4: true\n      routes:\n", i+1, i)
		for n := range 20 {
			text += fmt.Sprintf("      - {to: \"fd00:%x::/64\", via: \"fe80::1\", metric: 100}\n", n)
		}
	}
	for _, metadata := range []string{text, b64(text), b64(gz(text))} {
		if got, err := Addresses(metadata); len(got) != maxAddresses || err != nil {
			t.Errorf("%d addresses of %d bytes, %v", len(got), len(metadata), err)
		}
	}
	longest := b64("x: " + strings.Repeat("y", MaxPlain-3))
	if _, err := Addresses(longest); err != nil || len(longest) > MaxEncoded {
		t.Errorf("%d bytes: %v", len(longest), err)
	}
	if _, err := Addresses(strings.Repeat("x", MaxEncoded+1)); !errors.Is(err, ErrSize) {
		t.Errorf("too long: %v", err)
	}
}

// TestWhatAHostileTextCosts compares with a long valid text. Without bounds on the parser's input the
// hostile texts take 15 to 40 times as long, even with 64 KiB.
func TestWhatAHostileTextCosts(t *testing.T) {
	took := func(text string) time.Duration {
		best := time.Hour
		for range 5 {
			began := time.Now()
			_, _ = Addresses(text)
			best = min(best, time.Since(began))
		}
		return best
	}
	repeat := func(before, s, after string) string {
		return before + strings.Repeat(s, (250<<10)/len(s)) + after
	}
	var anchors, addresses strings.Builder
	anchors.WriteString("x: [")
	addresses.WriteString("network: {ethernets: {a: {addresses: [")
	for i := range 9_900 {
		fmt.Fprintf(&anchors, "&a%d b,", i)
		fmt.Fprintf(&addresses, "10.%d.%d.1,", i/250, i%250)
	}
	honest := took(b64(gz(many(maxAddresses))))
	for name, text := range map[string]string{
		"anchors":   anchors.String() + "]",
		"addresses": addresses.String() + "]}}}",
		"keys":      repeat("", "a: b\n", ""),
		"flow keys": repeat("x: {", "a:,", "}"),
		"items":     repeat("x: [", "a,", "]"),
		"quotes":    repeat("x: [", "'',", "]"),
		"comments":  repeat("", "a: b # c\n", ""),
		"dashes":    "x:\n" + strings.Repeat("- ", 9_000) + "\n",
		"questions": "x:\n" + strings.Repeat("? ", 9_000) + "\n",
		"lists":     "x: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"open":      repeat("x: ", "[", ""),
		"indents":   repeat("", " a:\n  b:\n   c:\n", ""),
		"blanks":    repeat("x: a", "\n", "y: b"),
		"tags":      repeat("%TAG !a! b\n---\nx: [", "!a!b c,", "]"),
		"zeros":     repeat("x: ", "0", ""),
	} {
		if ratio := float64(took(b64(gz(text)))) / float64(honest); ratio > 10 {
			t.Errorf("%s: %.0f times as long as %s for %d addresses", name, ratio, honest, maxAddresses)
		}
	}
}

// TestAParserThatPanics must not end the watch of a vCenter.
func TestAParserThatPanics(t *testing.T) {
	got, err := guarded(func() ([]netip.Addr, error) { panic("made-up") })
	if got != nil || !errors.Is(err, errEncoding) {
		t.Errorf("guarded around a parser that panics: %v, error %v, want none and errEncoding", got, err)
	}
}

// TestUnreadable checks that the error does not quote the text.
func TestUnreadable(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("x: &x [" + strings.Repeat("10.0.0.1,", 1000) + "]\ny: &y {addresses: *x}\nnetwork: {ethernets: {")
	for i := range 1000 {
		fmt.Fprintf(&aliases, "e%d: *y,", i)
	}
	aliases.WriteString("}}")
	for name, metadata := range map[string]string{
		"no YAML":                   "S3cret: [",
		"a list":                    "- S3cret: a",
		"a word":                    "S3cret!",
		"a word in base64":          b64("S3cret"),
		"base64 of nothing that is": "S3cret==",
		"no gzip":                   b64("\x1f\x8bS3cret"),
		"cut off":                   b64(gz("S3cret: " + v2)[:60]),
		"an alias of nothing":       "network: *S3cret",
		"an inner text":             "network: S3cret!",
		"too long":                  "S3cret: " + strings.Repeat("x", MaxPlain),
		"a bomb":                    b64(gz("S3cret: " + strings.Repeat("x", 100*MaxPlain))),
		"a bomb inside":             b64("network: " + b64(gz("S3cret: "+strings.Repeat("x", 100*MaxPlain)))),
		"a pyramid of aliases":      aliases.String(),
		"too many addresses":        "S3cret: a\n" + many(maxAddresses+1),
		"too many lines":            "S3cret: a\n" + strings.Repeat("\n", maxLines) + "b: c",
		"too many keys":             "S3cret: {" + strings.Repeat("a: b,", maxSigns/2) + "}",
		"too deep":                  "S3cret: " + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		"lists in lists":            "S3cret:\n" + strings.Repeat("- ", maxDepth+1) + "a",
		"brackets left open":        "S3cret: " + strings.Repeat("{a: ", maxDepth+1),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Addresses(metadata)
			if err == nil || got != nil {
				t.Fatalf("got %v, %v, want an error", got, err)
			}
			if strings.Contains(err.Error(), "S3cret") {
				t.Errorf("the error has the text: %v", err)
			}
		})
	}
}

func FuzzAddresses(f *testing.F) {
	for _, s := range []string{v1, v2, "network: {config: [{subnets: [{address: 10.0.0.1}]}]}", "a: &a [*a]", "network: &n {network: *n}"} {
		f.Add(s)
		f.Add(b64(s))
		f.Add(b64(gz(s)))
	}
	f.Fuzz(func(t *testing.T, metadata string) {
		got, err := Addresses(metadata)
		again, errAgain := Addresses(metadata)
		if fmt.Sprint(got, err) != fmt.Sprint(again, errAgain) {
			t.Errorf("%v, %v the first time, %v, %v the second", got, err, again, errAgain)
		}
		if err != nil && got != nil || len(got) > maxAddresses {
			t.Errorf("%d addresses and %v", len(got), err)
		}
		for i, a := range got {
			if !a.IsValid() || a.Zone() != "" || a.Is4In6() {
				t.Errorf("address %d is %v", i, a)
			}
		}
	})
}
