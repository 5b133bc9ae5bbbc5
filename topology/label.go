package topology

import "strings"

// InvalidLabelValue returns why s cannot be the value of a Kubernetes label, empty if it
// can. Kubernetes allows 63 characters of [-A-Za-z0-9_.], the
// first and last of them a letter or digit.
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
			return "it has to begin and end with a letter or digit"
		}
		if s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return "it may hold only letters, digits, '-', '_' and '.'"
		}
	}
	return ""
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// The labels that Kubernetes reads a Node's topology from.
const (
	LabelRegion = "topology.kubernetes.io/region"
	LabelZone   = "topology.kubernetes.io/zone"
)

// ReservedDomain returns the domain of a label's key if only its owner may set labels in
// it, empty for any other key.
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

// LabelRack is the only key in topology.kubernetes.io besides region and zone that
// Kubernetes' own APIs name: it is their example of a topology in
// k8s.io/api/scheduling/v1beta1.
const LabelRack = "topology.kubernetes.io/rack"

// IsReservedLevel reports whether a key that is in a reserved domain can be the label
// of a level. The framework writes no such label, and kubelets may not.
func IsReservedLevel(key string) bool { return key == LabelRack }

// CSIDomain has the labels that kubelet sets for the CSI driver.
const CSIDomain = "topology.csi.vmware.com"

// CSIDriver is the name that the driver registers with.
const CSIDriver = "csi.vsphere.vmware.com"
