package topology

import "strings"

// InvalidLabelValue returns the reason why s cannot be a Kubernetes label value, or "".
func InvalidLabelValue(s string) string {
	if s == "" {
		return "it is empty"
	}
	if len(s) > 63 {
		return "it is longer than 63 characters"
	}
	for i := range len(s) {
		if alphanumeric(s[i]) {
			continue
		}
		if i == 0 || i == len(s)-1 {
			return "it must begin and end with a letter or digit"
		}
		if s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return "it may contain only letters, digits, '-', '_' and '.'"
		}
	}
	return ""
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// The labels of a Node's topology.
const (
	LabelRegion = "topology.kubernetes.io/region"
	LabelZone   = "topology.kubernetes.io/zone"
)

// ReservedDomain returns the domain of a label key if only the domain's owner may set its labels,
// or "".
func ReservedDomain(key string) string {
	prefix, _, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return ""
	}
	for _, domain := range [...]string{"kubernetes.io", "k8s.io", CSIDomain} {
		if prefix == domain || strings.HasSuffix(prefix, "."+domain) {
			return domain
		}
	}
	return ""
}

// LabelRack is the only other key in topology.kubernetes.io in Kubernetes' own APIs: an example in
// k8s.io/api/scheduling/v1beta1.
const LabelRack = "topology.kubernetes.io/rack"

// IsReservedLevel reports whether a key in a reserved domain can be a level's label.
func IsReservedLevel(key string) bool { return key == LabelRack }

// OwnDomain is the domain of all annotations, conditions, taints and labels that vzones itself defines. make adopt
// sets it.
const OwnDomain = "vzones"

// CSIDomain is the domain of the labels that the kubelet sets for the CSI driver.
const CSIDomain = "topology.csi.vmware.com"

// CSIDriver is the CSI driver's registered name.
const CSIDriver = "csi.vsphere.vmware.com"
