package config

import (
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"unicode"

	"vzones/topology"
)

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

// readCA returns the content of a file of PEM certificates.
func readCA(path string) ([]byte, *complaint) {
	const limit = 4 << 20
	if strings.Contains(path, "-----BEGIN") {
		return nil, &complaint{what: "is a certificate: write the path of a file that holds it"}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(err)
	}
	// Reading a pipe or a device may never end.
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, &complaint{what: "is not a file of certificates: write the path of a PEM file"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(err)
	}
	count := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		count++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, &complaint{what: fmt.Sprintf("certificate %d of the file is damaged: write the path of a sound one", count)}
		}
	}
	if count == 0 {
		return nil, &complaint{what: "the file has no PEM certificate: write the path of one with -----BEGIN CERTIFICATE-----"}
	}
	return data, nil
}

func unreadable(err error) *complaint {
	reason := err
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pathError.Err
	}
	return &complaint{what: "the file cannot be read: " + reason.Error() + ": write the path of a PEM file"}
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
	case reserved != "":
		return &complaint{what: "is reserved: kubernetes.io and k8s.io are Kubernetes' own, " +
			"and no cloud provider's label in them is kept" + instead}
	case prefix == "vzones":
		return &complaint{what: "is reserved: vzones/ is for what vzones itself notes on a Node" + instead}
	}
	return nil
}
