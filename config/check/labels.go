package check

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"vzones/topology"
)

// ParseLabelKey checks the key of a label that nobody but vzones may set.
func ParseLabelKey(key string) *Mistake {
	const instead = ": write one with a prefix of your own, such as example.com/rack"
	reserved := topology.ReservedDomain(key)
	switch {
	case len(validation.IsQualifiedName(key)) > 0:
		return &Mistake{"is not a valid label key: write up to 63 letters, digits, -, _ and ., behind a prefix such as example.com/", Found(key)}
	case key == topology.LabelRegion:
		return &Mistake{What: "is the label of labels.region: write there what gives it"}
	case key == topology.LabelZone:
		return &Mistake{What: "is the label of labels.zone: write there what gives it"}
	case reserved == topology.CSIDomain:
		return &Mistake{What: "is reserved: kubelet sets it for the CSI driver, whose registration fails where another has" + instead}
	case strings.HasPrefix(key, "topology.kubernetes.io/"):
		return &Mistake{What: "is reserved: of topology.kubernetes.io, rack alone can be the label of a level besides region and zone" + instead}
	case reserved != "":
		return &Mistake{What: "is reserved: kubernetes.io and k8s.io are Kubernetes' own, " +
			"and no cloud provider's label in them is kept" + instead}
	case strings.HasPrefix(key, "vzones/"):
		return &Mistake{What: "is reserved: vzones/ is for what vzones itself notes on a Node" + instead}
	}
	return nil
}

// ParseLabelValue checks the value of a label. It may be empty.
func ParseLabelValue(value string) *Mistake {
	if value == "" {
		return nil
	}
	if why := topology.InvalidLabelValue(value); why != "" {
		return &Mistake{"is not a valid label value: " + why + ": write another one", Found(value)}
	}
	return nil
}

// ParseHostGroup checks a name of DRS host groups, in which a * stands for any
// characters. One that no label's value can have is of no use.
func ParseHostGroup(s string) *Mistake {
	if wrong := ParseName(s); wrong != nil {
		return wrong
	}
	if why := topology.InvalidLabelValue(strings.ReplaceAll(s, "*", "x")); why != "" {
		return &Mistake{"stands for names that cannot be a label's value: " + why + ": rename the groups, or take the label from a tag", Found(s)}
	}
	return nil
}
