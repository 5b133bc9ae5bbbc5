package record

import (
	"bytes"
	"crypto/sha256"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"vzones/vcenter/inventory"
)

// names replaces names, addresses and UUIDs consistently: equal texts stay equal, in any letter case, and
// different texts stay different. A nil names keeps everything.
//
// Texts are replaced word by word, so that a word is replaced alike in a name, a path, a pattern and a
// composed label value.
type names struct {
	// key is the secret of the addresses.
	key [32]byte

	// mu guards the rest.
	mu     sync.Mutex
	random *rand.Rand
	// replacements are by lower-case word, MAC address or UUID. used contains all of them, and the kept words.
	replacements map[string]string
	used         map[string]bool
}

func newNames(seed [32]byte) *names {
	return &names{
		random: rand.New(rand.NewChaCha8(seed)), key: sha256.Sum256(append([]byte("addresses"), seed[:]...)),
		replacements: map[string]string{}, used: maps.Clone(keptWords),
	}
}

// keptWords are the names that vSphere gives to objects, and host names that identify no host.
var keptWords = map[string]bool{
	"datacenters": true, "datastore": true, "host": true, "network": true, "resources": true, "vm": true,
	"localhost": true, "localdomain": true, "loopback": true,
}

// A token is a UUID, a MAC address, an IP address or network, an escape of vSphere, letters, or digits.
var token = regexp.MustCompile(`[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}` +
	`|(?:[[:xdigit:]]{2}:){5}[[:xdigit:]]{2}` +
	`|(?:[[:xdigit:]]*:[[:xdigit:]:]*:[[:xdigit:]:.]*|\d+(?:\.\d+){3})(?:/\d+)?` +
	`|%(?:2[fF]|5[cC]|25)` +
	`|\p{L}[\p{L}\p{M}]*|\p{N}+`)

const uuidLength = 36

func (n *names) text(s string) string {
	if n == nil {
		return s
	}
	if u, err := inventory.ParseUUID(s); err == nil {
		return sameCase(n.uuid(u).String(), s)
	}
	return token.ReplaceAllStringFunc(s, n.token)
}

func (n *names) texts(all []string) []string {
	replaced := make([]string, len(all))
	for i, s := range all {
		replaced[i] = n.text(s)
	}
	return replaced
}

func (n *names) token(s string) string {
	if len(s) == uuidLength && strings.Contains(s, "-") {
		u, err := inventory.ParseUUID(s)
		if err != nil {
			return s // It consists of zeros or ones and identifies no VM.
		}
		return sameCase(n.uuid(u).String(), s)
	}
	if strings.HasPrefix(s, "%") {
		return s
	}
	if mac, err := net.ParseMAC(s); err == nil {
		return sameCase(n.mac(mac), s)
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return n.address(a).String()
	}
	if p, err := netip.ParsePrefix(s); err == nil {
		replaced := netip.PrefixFrom(n.address(p.Addr()), p.Bits())
		if p == p.Masked() {
			replaced = replaced.Masked()
		}
		return replaced.String()
	}
	if strings.ContainsAny(s, ":./") {
		return words.ReplaceAllStringFunc(s, n.word)
	}
	return n.word(s)
}

var words = regexp.MustCompile(`\p{L}+|\p{N}+`)

// sameCase returns a text in upper case if the original has no lower-case letter.
func sameCase(s, original string) string {
	if strings.ToUpper(original) == original {
		return strings.ToUpper(s)
	}
	return s
}

// word replaces letters by letters of the same case and length in bytes, and digits by digits.
func (n *names) word(s string) string {
	lower := strings.ToLower(s)
	if keptWords[lower] {
		return s
	}
	replaced := []rune(n.replacement(lower, func() string { return strings.Map(n.letter, lower) }))
	for i, r := range []rune(s) {
		if unicode.IsUpper(r) {
			replaced[i] = unicode.ToUpper(replaced[i])
		}
	}
	return string(replaced)
}

func (n *names) letter(r rune) rune {
	switch {
	case r >= '0' && r <= '9':
		return '0' + n.random.Int32N(10)
	case r < utf8.RuneSelf:
		return 'a' + n.random.Int32N(26)
	case utf8.RuneLen(r) == 2:
		return 'а' + n.random.Int32N(32) // Cyrillic
	case utf8.RuneLen(r) == 3:
		return 0x4e00 + n.random.Int32N(0x5000) // Chinese
	}
	return 0x20000 + n.random.Int32N(0xa000) // rare Chinese
}

// maxDraws limits the search for an unused replacement. There are at least as many replacements as words of
// ASCII characters.
const maxDraws = 10_000

// replacement returns what replaces the original, and draws it the first time.
func (n *names) replacement(original string, draw func() string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	to, ok := n.replacements[original]
	for i := 0; !ok && i < maxDraws; i++ {
		if to = draw(); !n.used[to] {
			break
		}
	}
	n.replacements[original] = to
	n.used[to] = true
	return to
}

// uuid replaces a UUID and the UUID with swapped bytes consistently.
func (n *names) uuid(u inventory.UUID) inventory.UUID {
	swapped := u.Swapped()
	if bytes.Compare(swapped[:], u[:]) < 0 {
		return n.uuid(swapped).Swapped()
	}
	text := n.replacement(u.String(), func() string {
		var drawn inventory.UUID
		for i := range drawn {
			drawn[i] = byte(n.random.Uint32())
		}
		if u == swapped {
			copy(drawn[2:4], []byte{drawn[1], drawn[0]})
			drawn[5], drawn[7] = drawn[4], drawn[6]
		}
		return drawn.String()
	})
	// The text is a valid UUID.
	replaced, _ := inventory.ParseUUID(text)
	return replaced
}

// mac keeps the manufacturer.
func (n *names) mac(mac net.HardwareAddr) string {
	return n.replacement(mac.String(), func() string {
		drawn := bytes.Clone(mac)
		for i := len(drawn) / 2; i < len(drawn); i++ {
			drawn[i] = byte(n.random.Uint32())
		}
		return net.HardwareAddr(drawn).String()
	})
}

// keptPrefixes are networks with a meaning. An address stays inside, or outside.
var keptPrefixes = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.168.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "::/96", "2000::/3", "fc00::/7", "fe80::/64", "ff00::/8")

func prefixes(all ...string) (list []netip.Prefix) {
	for _, s := range all {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}

// address keeps prefixes: two addresses with n equal leading bits are replaced by two with exactly n equal
// leading bits.
func (n *names) address(a netip.Addr) netip.Addr {
	if n == nil || a.IsLoopback() || a.IsUnspecified() {
		return a
	}
	plain := a.Unmap().WithZone("")
	from := plain.AsSlice()
	to := bytes.Clone(from)
	for bit := range plain.BitLen() {
		prefix := netip.PrefixFrom(plain, bit).Masked()
		isKept := func(p netip.Prefix) bool {
			return p.Bits() > bit && p.Addr().BitLen() == plain.BitLen() && prefix.Contains(p.Addr())
		}
		if slices.ContainsFunc(keptPrefixes, isKept) {
			continue
		}
		sum := sha256.Sum256(append(n.key[:], prefix.String()...))
		to[bit/8] ^= (sum[0] & 1) << (7 - bit%8)
	}
	replaced, _ := netip.AddrFromSlice(to)
	if a.Is4In6() {
		replaced = netip.AddrFrom16(replaced.As16())
	}
	return replaced.WithZone(n.text(a.Zone()))
}
