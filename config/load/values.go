package load

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/config"
	"vzones/topology"
)

// values checks values, each on its own.
type values struct{ *Problems }

// A kind checks a usable value and returns it parsed, or its error. A kind that can find several
// errors reports them itself.
type kind func(c values, v *Value, f *config.Field) (any, *config.ValueError)

var kinds = map[config.Kind]kind{
	config.KindName:        parsed(parseName),
	config.KindHostGroup:   parsed(parseHostGroup),
	config.KindThumbprint:  parsed(parseThumbprint),
	config.KindDirectory:   parsed(parseDirectory),
	config.KindDuration:    parsed(parseDuration),
	config.KindSelector:    parsed(parseSelector),
	config.KindSecretName:  parsed(config.KindSecretName.ParseName),
	config.KindNamespace:   parsed(config.KindNamespace.ParseName),
	config.KindUser:        values.user,
	config.KindPassword:    values.password,
	config.KindServer:      values.server,
	config.KindDatacenters: values.datacenters,
	config.KindFamilies:    values.families,
	config.KindNetworks:    values.networks,
	config.KindPaths:       values.paths,
	config.KindCIDRs:       values.subnets,
	config.KindInt: func(_ values, v *Value, f *config.Field) (any, *config.ValueError) {
		if n := v.Data.(int); n < f.Min || n > f.Max {
			return nil, &config.ValueError{Message: fmt.Sprintf("%d is not a valid %s: write %s", n, f.Noun, f.Limits())}
		}
		return v.Data, nil
	},
	config.KindWord: func(_ values, v *Value, f *config.Field) (any, *config.ValueError) {
		if !slices.Contains(f.Words, v.Text) {
			return nil, &config.ValueError{Message: "is not a valid " + f.Key + ": write " + alternatives(f.Words), Found: config.Found(v.Text)}
		}
		return v.Text, nil
	},
}

func parsed[T any](parse func(string) (T, *config.ValueError)) kind {
	return func(_ values, v *Value, _ *config.Field) (any, *config.ValueError) { return parse(v.Text) }
}

func (c values) check(s *Section) {
	for _, f := range config.FieldsOf(s.In) {
		v := s.values[f.Key]
		parse := kinds[f.Kind]
		if v == nil || parse == nil || !v.Usable() {
			continue
		}
		data, wrong := parse(c, v, f)
		if c.reject(v, wrong) {
			continue
		}
		v.Data = data
		if text, ok := data.(string); ok {
			v.Text = text
		}
	}
}

// reject reports a value's error, if any, and marks the value.
func (c values) reject(v *Value, wrong *config.ValueError) bool {
	if wrong == nil {
		return false
	}
	found := wrong.Found
	if v.Hidden {
		found = ""
	}
	c.bad(v, "%s%s", wrong.Message, found)
	return true
}

func (c values) server(v *Value, _ *config.Field) (any, *config.ValueError) {
	address, wrong := parseServer(v.Text)
	if wrong == nil {
		c.underscore(v.At, address)
	}
	return address, wrong
}

func (c values) underscore(pos Position, server string) {
	if strings.Contains(server, "_") {
		c.Warnf(pos, "contains a _, which RFC 1123 does not allow in a host name: it is used unchanged, "+
			"but DNS servers, proxies and CAs may reject it")
	}
}

// parseDirectory accepts a directory that may not exist.
func parseDirectory(s string) (string, *config.ValueError) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", &config.ValueError{Message: "is blank: write the path of a directory, or remove the key"}
	case !filepath.IsAbs(s):
		return "", &config.ValueError{Message: "is not an absolute path: write one that begins with /, such as /etc/cloud/secrets", Found: config.Found(s)}
	}
	_, wrong := parseName(s)
	return filepath.Clean(s), wrong
}

func parseDuration(s string) (time.Duration, *config.ValueError) {
	const maxDuration = 24 * time.Hour
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, &config.ValueError{Message: "is not a valid duration: write a number with its unit, such as 60s or 5m", Found: config.Found(s)}
	case d < 0 || d > maxDuration:
		return 0, &config.ValueError{Message: fmt.Sprintf("is out of range: write a duration from 0s to %gh", maxDuration.Hours()), Found: config.Found(s)}
	}
	return d, nil
}

func parseSelector(s string) (labels.Selector, *config.ValueError) {
	selector, err := labels.Parse(s)
	if err != nil || selector.Empty() {
		return nil, &config.ValueError{Message: "is not a valid label selector: write one as for kubectl get nodes -l, such as vsphere=true,!metal", Found: config.Found(s)}
	}
	return selector, nil
}

func elements[T comparable](c values, v *Value, parse func(text string) (T, *config.ValueError), onDuplicate func(element *Value)) (all []T) {
	seen := make(map[T]bool)
	for i := range v.List {
		element := &v.List[i]
		parsed, wrong := parse(element.Text)
		switch {
		case c.reject(element, wrong):
			v.Bad = true
		case seen[parsed]:
			onDuplicate(element)
		default:
			all = append(all, parsed)
			seen[parsed] = true
		}
	}
	return all
}

// datacenters splits elements at commas, since Rancher's chart writes all names into one element. As
// in the CPI, a list of blanks means all datacenters.
func (c values) datacenters(v *Value, _ *config.Field) (any, *config.ValueError) {
	if areBlank(v.List) {
		return []string(nil), nil
	}
	var parts Value
	for _, element := range v.List {
		for part := range strings.SplitSeq(element.Text, ",") {
			parts.List = append(parts.List, Value{Text: strings.TrimSpace(part), At: element.At, Hidden: element.Hidden})
		}
	}
	names := elements(c, &parts, func(part string) (string, *config.ValueError) {
		if part == "" {
			return "", &config.ValueError{Message: "contains an empty name: write the names of datacenters, or remove the element"}
		}
		name, wrong := parseName(part)
		if err := config.CheckDatacenter(part); wrong == nil && err != nil {
			wrong = &config.ValueError{Message: err.Error(), Found: config.Found(part)}
		}
		return name, wrong
	}, func(e *Value) { c.Warnf(e.At, "repeats a datacenter of the list") })
	v.Bad = v.Bad || parts.Bad
	return names, nil
}

func areBlank(elements []Value) bool {
	return !slices.ContainsFunc(elements, func(v Value) bool { return strings.TrimSpace(v.Text) != "" })
}

func (c values) families(v *Value, _ *config.Field) (any, *config.ValueError) {
	if areBlank(v.List) {
		v.Set = false
		return nil, nil
	}
	several := c.Dialect.Several
	if v.At.Line == InEnvironment {
		several = INI.Several
	}
	return elements(c, v, func(text string) (string, *config.ValueError) {
		family := strings.ToLower(strings.TrimSpace(text))
		if family != "ipv4" && family != "ipv6" {
			return "", &config.ValueError{Message: "is not a valid IP family: write ipv4 or ipv6, " + several, Found: config.Found(text)}
		}
		return family, nil
	}, c.listedTwice), nil
}

func (c values) listedTwice(element *Value) {
	c.Errorf(element.At, "is listed twice: remove one of the two")
}

// networks does not split elements at commas, which a name may contain.
func (c values) networks(v *Value, f *config.Field) (any, *config.ValueError) {
	var patterns []string
	for i := range v.List {
		element := &v.List[i]
		c.bounded(element.At, i+1, maxNetworks, "names of networks")
		pattern, wrong := parseName(element.Text)
		switch {
		case strings.TrimSpace(element.Text) == "":
			wrong = &config.ValueError{Message: "is blank: write the name of a network, or remove the element"}
		case f.Key == "excludeNetworks" && wrong == nil && strings.Trim(pattern, "*") == "":
			wrong = &config.ValueError{Message: "excludes every network: write the names of the networks to exclude"}
		}
		switch {
		case c.reject(element, wrong):
			v.Bad = true
		case slices.ContainsFunc(patterns, func(p string) bool { return strings.EqualFold(p, pattern) }):
			c.Warnf(element.At, "repeats a network of the list")
		default:
			patterns = append(patterns, pattern)
		}
	}
	return patterns, nil
}

func (c values) paths(v *Value, f *config.Field) (any, *config.ValueError) {
	return elements(c, v, func(text string) (topology.PathKind, *config.ValueError) {
		if index := slices.Index(f.Words, text); index >= 0 {
			return topology.DefaultPaths()[index], nil
		}
		return "", &config.ValueError{Message: "is not a valid path: write compute, resourcePool or folder, each as a separate element", Found: config.Found(text)}
	}, c.listedTwice), nil
}

func (c values) subnets(v *Value, _ *config.Field) (any, *config.ValueError) {
	var subnets []netip.Prefix
	for part := range strings.SplitSeq(v.Text, ",") {
		part = strings.TrimSpace(part)
		addr, notAddress := netip.ParseAddr(part)
		subnet, err := netip.ParsePrefix(part)
		var wrong *config.ValueError
		switch {
		case part == "":
			wrong = &config.ValueError{Message: "contains an empty part: write CIDRs separated by single commas"}
		case notAddress == nil && addr.Zone() == "":
			wrong = &config.ValueError{Message: "contains an address without a prefix length: write a CIDR",
				Found: fmt.Sprintf(", here %s/%d for this address alone", addr, addr.BitLen())}
		case err != nil:
			wrong = &config.ValueError{Message: "contains a part that is not a CIDR: write an address and a prefix length, such as 10.0.0.0/8 or fd00::/8",
				Found: config.Found(part)}
		}
		c.reject(v, wrong)
		subnets = append(subnets, subnet.Masked())
	}
	return subnets, nil
}

// parseName accepts almost any text: vSphere does too.
func parseName(s string) (string, *config.ValueError) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", &config.ValueError{Message: "is blank: write a name, or remove the key"}
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return "", &config.ValueError{Message: "contains a line break or another control character: write it on one line"}
	case strings.TrimSpace(s) != s:
		return "", &config.ValueError{Message: "begins or ends with a blank: remove it"}
	}
	return s, nil
}

// isEntryName allows the length of a host name, since Nodes and metrics contain the name.
func isEntryName(s string) bool { _, wrong := parseName(s); return wrong == nil && len(s) <= 253 }

func alternatives(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

const wantAddress = "write a host name or an IP address"

const hostPart = `[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`

var hostParts = regexp.MustCompile(`^` + hostPart + `(\.` + hostPart + `)*$`)

func parseServer(s string) (string, *config.ValueError) {
	inner := s
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		inner = s[1 : len(s)-1]
	}
	addr, err := netip.ParseAddr(inner)
	host, port, hasPort := splitPort(s)
	switch {
	case err == nil && addr.Zone() == "" && (inner == s || addr.Is6()), isHostName(s):
		return inner, nil
	case strings.Contains(s, "://"):
		return "", &config.ValueError{Message: "is a URL: " + wantAddress, Found: serverHint(s)}
	case inner != s:
		return "", &config.ValueError{Message: "is not an IPv6 address: write one such as fd00::10, or [fd00::10]"}
	case err == nil:
		return "", &config.ValueError{Message: "is an address with a zone (%): write one that is reachable without a zone"}
	case hasPort:
		return "", &config.ValueError{Message: "contains a port: write the address in server and the port in port", Found: ", here server " + host + " and port " + port}
	case strings.Contains(s, "/"):
		return "", &config.ValueError{Message: "contains a path: " + wantAddress, Found: serverHint("https://" + s)}
	}
	wrong := &config.ValueError{Message: "is neither an IP address nor a host name: write one, such as vc.example.com"}
	// A colon may separate a user and a password.
	if !strings.Contains(s, ":") || strings.Trim(s, "0123456789abcdefABCDEF.:[]/") == "" {
		wrong.Found = config.Found(s)
	}
	return "", wrong
}

// serverHint suggests the server and port of a URL if they are certain.
func serverHint(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User != nil || strings.Contains(s, "@") || !isHost(u.Hostname()) {
		return ""
	}
	host := u.Hostname()
	if port := u.Port(); port != "" && port != strconv.Itoa(config.DefaultPort) {
		return ", here server " + host + " and port " + port
	}
	return ", here " + host
}

func isHost(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Zone() == "" || isHostName(s)
}

func splitPort(s string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(s)
	n, notPort := strconv.ParseUint(port, 10, 16)
	return host, port, err == nil && notPort == nil && n > 0 && isHost(host)
}

// isHostName follows RFC 1123, but accepts _. It rejects a last label of digits, which other programs
// read as an IP address.
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	last := s[strings.LastIndexByte(s, '.')+1:]
	return len(s) <= 253 && hostParts.MatchString(s) && strings.Trim(last, "0123456789_") != ""
}

// isFullAddress reports whether a text can only be an address.
func isFullAddress(s string) bool {
	_, wrong := parseServer(s)
	return wrong == nil && strings.ContainsAny(s, ".:")
}

// parseHostGroup rejects a pattern of DRS host groups that no valid label value can match.
func parseHostGroup(s string) (string, *config.ValueError) {
	name, wrong := parseName(s)
	if why := topology.InvalidLabelValue(strings.ReplaceAll(s, "*", "x")); wrong == nil && why != "" {
		return "", &config.ValueError{Message: "matches names that cannot be label values: " + why + ": rename the groups, or take the label from a tag", Found: config.Found(s)}
	}
	return name, wrong
}

// NoThumbprint in an entry removes the global section's thumbprint.
const NoThumbprint = "none"

// parseThumbprint returns "" for NoThumbprint.
func parseThumbprint(s string) (string, *config.ValueError) {
	wrong := &config.ValueError{Message: "is not a valid fingerprint: write the SHA-1 or SHA-256 fingerprint of the server's certificate, " +
		"20 or 32 pairs of hexadecimal digits, with or without colons"}
	if s = strings.ToUpper(strings.TrimSpace(s)); strings.EqualFold(s, NoThumbprint) {
		return "", nil
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err == nil && len(raw) != 20 && len(raw) != 32 {
		wrong.Found = fmt.Sprintf(" (found %d pairs)", len(raw))
	}
	normal := strings.ReplaceAll(fmt.Sprintf("% X", raw), " ", ":")
	if err != nil || wrong.Found != "" || strings.Contains(s, ":") && s != normal {
		return "", wrong
	}
	return normal, nil
}
