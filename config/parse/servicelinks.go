package parse

import (
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"vzones/config/problem"
	"vzones/topology/quote"
)

// linkShapes are the variables that Kubernetes sets in a Pod for each Service of its
// namespace, unless the Pod has enableServiceLinks: false. The first part of each is
// the Service's name in upper case, with _ for -.
var linkShapes = []struct {
	name  *regexp.Regexp
	value func(string) bool
}{

	{regexp.MustCompile(`^(.+)_SERVICE_HOST$`), isAddress},

	{regexp.MustCompile(`^(.+)_SERVICE_PORT(?:_[A-Z0-9_]+)?$`), isPort},

	{regexp.MustCompile(`^(.+)_PORT_[0-9]+_(?:TCP|UDP|SCTP)_ADDR$`), isAddress},

	{regexp.MustCompile(`^(.+)_PORT_[0-9]+_(?:TCP|UDP|SCTP)_PORT$`), isPort},

	{regexp.MustCompile(`^(.+)_PORT_[0-9]+_(?:TCP|UDP|SCTP)_PROTO$`), isProtocol},

	{regexp.MustCompile(`^(.+)_PORT_[0-9]+_(?:TCP|UDP|SCTP)$`), isProtocolURL},

	{regexp.MustCompile(`^(.+)_PORT$`), isProtocolURL},
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

func isProtocol(s string) bool { return s == "tcp" || s == "udp" || s == "sctp" }

// isProtocolURL accepts tcp://10.0.0.11:443 and the like.
func isProtocolURL(s string) bool {
	protocol, address, ok := strings.Cut(s, "://")
	if !ok || !isProtocol(protocol) {
		return false
	}
	_, err := netip.ParseAddrPort(address)
	return err == nil
}

// serviceOf returns the Service that a variable and its value are of, as the variable
// has its name; "" if they are not of that shape.
func serviceOf(name, value string) string {
	for _, shape := range linkShapes {
		if m := shape.name.FindStringSubmatch(name); m != nil && shape.value(value) {
			return m[1]
		}
	}
	return ""
}

// withoutServiceLinks returns the variables that no Service has set, and remarks those
// Services whose variables would be read, or refused, as the daemon's settings.
func withoutServiceLinks(environ []string, p *problem.List) []string {
	const ours = "VSPHERE_VCENTER"
	services := make(map[string]string) // and the first of each one's variables
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		service := serviceOf(name, value)
		if service != ours && !strings.HasPrefix(service, ours+"_") {
			kept = append(kept, entry)
		} else if first := services[service]; first == "" || name < first {
			services[service] = name
		}
	}
	for _, service := range slices.Sorted(maps.Keys(services)) {
		p.Warnf(problem.Variable(services[service]), "is ignored, with others like it: Kubernetes sets it in the Pod for the Service %s: "+
			"write enableServiceLinks: false into the Pod's specification", quote.Value(strings.ToLower(strings.ReplaceAll(service, "_", "-"))))
	}
	return kept
}
