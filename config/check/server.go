package check

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"vzones/topology/quote"
)

// A Mistake says what is wrong with a value and what to write. Detail may
// hold parts of the value, so it is left out where those might be a secret's.
type Mistake struct {
	What   string
	Detail string
}

// The port where none is configured, and what to write for an address.
const (
	DefaultPort = 443
	WantAddress = "write a host name or an IP address"
)

var hostLabel = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)

// ParseServer returns the address of a vCenter as configured, without brackets
// around an IPv6 address.
func ParseServer(s string) (string, *Mistake) {
	switch {
	case strings.Contains(s, "://"):
		return "", &Mistake{"is a URL: " + WantAddress, serverHint(s)}
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		inner := s[1 : len(s)-1]
		if addr, err := netip.ParseAddr(inner); err == nil && addr.Is6() && addr.Zone() == "" {
			return inner, nil
		}
		return "", &Mistake{What: "is not an IPv6 address: write one such as fd00::10, or [fd00::10]"}
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		if addr.Zone() != "" {
			return "", &Mistake{What: "is an address with a zone (%): write one that is reachable without"}
		}
		return s, nil
	}
	if isHostName(s) {
		return s, nil
	}
	if host, port, ok := splitPort(s); ok {
		return "", &Mistake{"holds a port: write the address in server and the port in port",
			", here server: " + host + " and port: " + port}
	}
	if strings.Contains(s, "/") {
		return "", &Mistake{"holds a path: " + WantAddress, serverHint("https://" + s)}
	}
	detail := Found(s)
	if strings.Contains(s, ":") && strings.Trim(s, "0123456789abcdefABCDEF.:[]/") != "" {
		detail = "" // Before and after a colon may be a user and a password.
	}
	return "", &Mistake{"is neither an IP address nor a host name: write one, such as vc.example.com", detail}
}

// serverHint shows what to write instead of a URL, if that is certain.
func serverHint(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || strings.Contains(s, "@") {
		return ""
	}
	host := u.Hostname()
	if !isHost(host) {
		return ""
	}
	if port := u.Port(); port != "" && port != strconv.Itoa(DefaultPort) {
		return ", here server: " + host + " and port: " + port
	}
	return ", here " + host
}

// isHost reports whether s is an IP address or a host name.
func isHost(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Zone() == "" || isHostName(s)
}

// splitPort splits host:port and [v6]:port where that is what s is.
func splitPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", "", false
	}
	host, port = strings.TrimSuffix(strings.TrimPrefix(s[:i], "["), "]"), s[i+1:]
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", "", false
	}
	return host, port, isHost(host)
}

// isHostName follows RFC 1123, but for _, which names of servers have all the same. A
// name that ends in digits only would be read as an IP address by others, so it is a
// mistyped one.
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if !hostLabel.MatchString(label) {
			return false
		}
	}
	return strings.Trim(labels[len(labels)-1], "0123456789_") != ""
}

// IsFullAddress reports whether a text can only be meant as an address: an entry's
// name that is one needs no server besides.
func IsFullAddress(s string) bool {
	if _, wrong := ParseServer(s); wrong != nil {
		return false
	}
	return strings.ContainsAny(s, ".:")
}

// SameServer returns what two ways to write one address have in common.
func SameServer(address string, port int) string {
	if addr, err := netip.ParseAddr(address); err == nil {
		return netip.AddrPortFrom(addr.Unmap(), uint16(port)).String()
	}
	return strings.ToLower(strings.TrimSuffix(address, ".")) + ":" + strconv.Itoa(port)
}

// Found shows a value in a message, unless it may hold credentials.
func Found(s string) string {
	// An @ may separate credentials from a host.
	if strings.Contains(s, "@") {
		return ""
	}
	return " (found " + quote.Value(s) + ")"
}
