package inventory

import (
	"slices"
	"strings"
)

const (
	// maxHostName and maxHostLabel limit a DNS name and its labels in bytes. RFC 1035 (2.3.4) allows 255 octets, two of
	// which the text form lacks.
	maxHostName  = 253
	maxHostLabel = 63
)

// loopbackNames are in the hosts files of Linux distributions. A guest reports one until it has its own name.
var loopbackNames = []string{
	"localhost", "localhost4", "localhost6",
	"ip6-localhost", "ip6-loopback", "ipv6-localhost", "ipv6-loopback",
}

// IsHostName reports whether a name can identify one VM. Underscores are valid too; names of loopback addresses,
// and names of digits and dots, which parse as IPv4 addresses, are not.
func IsHostName(name string) bool {
	labels := strings.Split(strings.ToLower(name), ".")
	first := labels[0]
	last := labels[len(labels)-1]
	return len(name) <= maxHostName && !slices.ContainsFunc(labels, isNoHostLabel) &&
		!slices.Contains(loopbackNames, first) && last != "localhost" && strings.Trim(name, "0123456789.") != ""
}

func isNoHostLabel(s string) bool {
	isInvalid := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return s == "" || len(s) > maxHostLabel || s[0] == '-' || s[len(s)-1] == '-' || strings.ContainsFunc(s, isInvalid)
}
