package config

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode"

	"vzones/topology"
)

// noThumbprint in place of a fingerprint keeps the global section's from an entry.
const noThumbprint = "none"

// parseThumbprint returns a fingerprint as upper-case pairs between colons.
func parseThumbprint(s string) (string, *complaint) {
	wrong := &complaint{what: "is no fingerprint: write the SHA-1 or SHA-256 one of the server's certificate, " +
		"20 or 32 pairs of hexadecimal digits, with colons between them or without"}
	s = strings.ToUpper(strings.TrimSpace(s))
	raw, err := hex.DecodeString(strings.ReplaceAll(s, ":", ""))
	if err != nil {
		return "", wrong
	}
	if len(raw) != 20 && len(raw) != 32 {
		wrong.detail = fmt.Sprintf(" (found %d pairs)", len(raw))
		return "", wrong
	}
	pairs := make([]string, len(raw))
	for i, b := range raw {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	normal := strings.Join(pairs, ":")
	if strings.Contains(s, ":") && s != normal {
		return "", wrong
	}
	return normal, nil
}

// parseSubnets reads CIDRs between commas.
func parseSubnets(s string) ([]netip.Prefix, []complaint) {
	var subnets []netip.Prefix
	var wrong []complaint
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			wrong = append(wrong, complaint{what: "has an empty part: write CIDRs with one comma between two of them"})
			continue
		}
		if addr, err := netip.ParseAddr(part); err == nil && addr.Zone() == "" {
			wrong = append(wrong, complaint{"has an address without a prefix length: write a CIDR",
				fmt.Sprintf(", here %s/%d for that address alone", addr, addr.BitLen())})
			continue
		}
		subnet, err := netip.ParsePrefix(part)
		if err != nil {
			wrong = append(wrong, complaint{"has a part that is no CIDR: write an address and a prefix length, " +
				"such as 10.0.0.0/8 or fd00::/8", found(part)})
			continue
		}
		subnets = append(subnets, subnet.Masked())
	}
	return subnets, wrong
}

// The names that Kubernetes accepts for Secrets and for namespaces.
var (
	secretName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// parseName checks a name that vSphere chose or was given, which may be nearly
// anything.
func parseName(s string) *complaint {
	switch {
	case strings.TrimSpace(s) == "":
		return &complaint{what: "is blank: write a name, or remove the key"}
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return &complaint{what: "has a line break or another control character: write it on one line"}
	case strings.TrimSpace(s) != s:
		return &complaint{what: "begins or ends with a blank: remove it"}
	}
	return nil
}

// The keys that Kubernetes accepts for labels: a name, with the prefix of a DNS
// name before it or without.
var (
	labelName   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	labelPrefix = secretName
)

// parseLabelKey checks the key of a label that nobody but vzones may set.
func parseLabelKey(key string) *complaint {
	const instead = ": write one with a prefix of your own, such as example.com/rack"
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		prefix, name = "", key
	}
	reserved := topology.ReservedDomain(key)
	switch {
	case !labelName.MatchString(name) || prefixed && (len(prefix) > 253 || !labelPrefix.MatchString(prefix)):
		return &complaint{"is no label key: write up to 63 letters, digits, -, _ and ., behind a prefix such as example.com/", found(key)}
	case key == topology.LabelRegion:
		return &complaint{what: "is the label of labels.region: write there what gives it"}
	case key == topology.LabelZone:
		return &complaint{what: "is the label of labels.zone: write there what gives it"}
	case reserved == topology.CSIDomain:
		return &complaint{what: "is reserved: kubelet sets it for the CSI driver, whose registration fails where another has" + instead}
	case prefix == "topology.kubernetes.io":
		return &complaint{what: "is reserved: of topology.kubernetes.io, rack alone can be the label of a level besides region and zone" + instead}
	case reserved != "":
		return &complaint{what: "is reserved: kubernetes.io and k8s.io are Kubernetes' own, " +
			"and no cloud provider's label in them is kept" + instead}
	case prefix == "vzones":
		return &complaint{what: "is reserved: vzones/ is for what vzones itself notes on a Node" + instead}
	}
	return nil
}
