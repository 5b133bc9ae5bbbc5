// Package check checks single values, whatever file they are from: names, addresses, labels,
// fingerprints, certificates. It knows neither files nor positions, and its words never hold
// more of a value than may be shown.
package check

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ParseSubnets reads CIDRs between commas.
func ParseSubnets(s string) ([]netip.Prefix, []Mistake) {
	var subnets []netip.Prefix
	var wrong []Mistake
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			wrong = append(wrong, Mistake{What: "has an empty part: write CIDRs with one comma between two of them"})
			continue
		}
		if addr, err := netip.ParseAddr(part); err == nil && addr.Zone() == "" {
			wrong = append(wrong, Mistake{"has an address without a prefix length: write a CIDR",
				fmt.Sprintf(", here %s/%d for that address alone", addr, addr.BitLen())})
			continue
		}
		subnet, err := netip.ParsePrefix(part)
		if err != nil {
			wrong = append(wrong, Mistake{"has a part that is not a CIDR: write an address and a prefix length, " +
				"such as 10.0.0.0/8 or fd00::/8", Found(part)})
			continue
		}
		subnets = append(subnets, subnet.Masked())
	}
	return subnets, wrong
}

// IsSecretName reports whether Kubernetes accepts a name for a Secret.
func IsSecretName(s string) bool { return len(validation.IsDNS1123Subdomain(s)) == 0 }

// IsNamespace reports whether Kubernetes accepts a name for a namespace.
func IsNamespace(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }

// IsLabelName reports whether Kubernetes accepts a text for the key of a label without a prefix.
func IsLabelName(s string) bool {
	return !strings.Contains(s, "/") && len(validation.IsQualifiedName(s)) == 0
}

// ParseName checks a name that vSphere chose or was given, which may be nearly
// anything.
func ParseName(s string) *Mistake {
	switch {
	case strings.TrimSpace(s) == "":
		return &Mistake{What: "is blank: write a name, or remove the key"}
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return &Mistake{What: "has a line break or another control character: write it on one line"}
	case strings.TrimSpace(s) != s:
		return &Mistake{What: "begins or ends with a blank: remove it"}
	}
	return nil
}

// IsEntryName reports whether a text can be a vCenter's name. It is written onto Nodes and into
// labels of metrics, so it is no longer than a host name.
func IsEntryName(s string) bool { return ParseName(s) == nil && len(s) <= 253 }

// Alternatives lists words between commas, with an or.
func Alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
