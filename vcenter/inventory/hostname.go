package inventory

import (
	"slices"
	"strings"
)

const (
	// maxHostName and maxHostLabel are the greatest lengths of a DNS name and of one of its labels.
	maxHostName  = 253
	maxHostLabel = 63
)

// loopbackNames are the first labels of the names that hosts files of Linux distributions give to loopback addresses.
// A guest reports such a name until it has its own.
var loopbackNames = []string{
	"localhost", "localhost4", "localhost6",
	"ip6-localhost", "ip6-loopback", "ipv6-localhost", "ipv6-loopback",
}

// IsHostName reports whether a name can be the host name of one VM: a DNS name, in which underscores are valid too. The
// names of loopback addresses are invalid, and so are names of digits and dots, which are read as IPv4 addresses.
func IsHostName(name string) bool {
	labels := strings.Split(strings.ToLower(name), ".")
	first := labels[0]
	last := labels[len(labels)-1]
	return len(name) <= maxHostName && !slices.ContainsFunc(labels, isNoHostLabel) &&
		!slices.Contains(loopbackNames, first) && last != "localhost" && strings.Trim(name, "0123456789.") != ""
}

// isNoHostLabel reports whether a lower-case text is no label of a host name.
func isNoHostLabel(s string) bool {
	isInvalid := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	return s == "" || len(s) > maxHostLabel || s[0] == '-' || s[len(s)-1] == '-' || strings.ContainsFunc(s, isInvalid)
}
