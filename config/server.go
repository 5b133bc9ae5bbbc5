package config

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"vzones/topology/quote"
)

// A complaint says what is wrong with a value and what to write. Detail may
// hold parts of the value, so it is left out where those might be a secret's.
type complaint struct {
	what   string
	detail string
}

const (
	defaultPort = 443
	wantAddress = "write a host name or an IP address"
)

var hostLabel = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)

// parseServer returns the address of a vCenter as configured, without brackets
// around an IPv6 address.
func parseServer(s string) (string, *complaint) {
	switch {
	case strings.Contains(s, "://"):
		return "", &complaint{"is a URL: " + wantAddress, serverHint(s)}
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		inner := s[1 : len(s)-1]
		if addr, err := netip.ParseAddr(inner); err == nil && addr.Is6() && addr.Zone() == "" {
			return inner, nil
		}
		return "", &complaint{what: "is no IPv6 address: write one such as fd00::10, or [fd00::10]"}
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		if addr.Zone() != "" {
			return "", &complaint{what: "is an address with a zone (%): write one that is reachable without"}
		}
		return s, nil
	}
	if isHostName(s) {
		return s, nil
	}
	if host, port, ok := splitPort(s); ok {
		return "", &complaint{"holds a port: write the address in server and the port in port",
			", here server: " + host + " and port: " + port}
	}
	if strings.Contains(s, "/") {
		return "", &complaint{"holds a path: " + wantAddress, serverHint("https://" + s)}
	}
	detail := found(s)
	if strings.Contains(s, ":") && strings.Trim(s, "0123456789abcdefABCDEF.:[]/") != "" {
		detail = "" // Before and after a colon may be a user and a password.
	}
	return "", &complaint{"is neither an IP address nor a host name: write one, such as vc.example.com", detail}
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
	if port := u.Port(); port != "" && port != strconv.Itoa(defaultPort) {
		return ", here server: " + host + " and port: " + port
	}
	return ", here " + host
}

// isHost says whether s is an IP address or a host name.
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

// underscore warns of a server that is taken although its name has a _.
func (c *checker) underscore(server text) {
	if server.usable() && strings.Contains(server.v, "_") {
		c.warnf(server.at, "has a _, which RFC 1123 does not allow in the name of a host: it is taken as it is, "+
			"but DNS servers, proxies and authorities that sign certificates may refuse it")
	}
}

// isFullAddress says that a text can only be meant as an address: an entry's
// name that is one needs no server besides.
func isFullAddress(s string) bool {
	if _, complaint := parseServer(s); complaint != nil {
		return false
	}
	return strings.ContainsAny(s, ".:")
}

// sameServer returns what two ways to write one address have in common.
func sameServer(address string, port int) string {
	if addr, err := netip.ParseAddr(address); err == nil {
		return netip.AddrPortFrom(addr.Unmap(), uint16(port)).String()
	}
	return strings.ToLower(strings.TrimSuffix(address, ".")) + ":" + strconv.Itoa(port)
}

func found(s string) string {
	// An @ may separate credentials from a host.
	if strings.Contains(s, "@") {
		return ""
	}
	return " (found " + quote.Value(s) + ")"
}
