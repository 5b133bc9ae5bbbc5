package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"vzones/internal/quote"
	"vzones/topology"
)

var kubernetesLabel = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// ParseNodeLabels parses labels as key=value,key=value, the syntax of the vSphere CPI's
// --node-labels. Quotes are dropped, because manifests keep a shell's quotes. As in the CPI, the
// last value of a repeated key applies and Kubernetes' own keys are dropped, both with a warning.
func ParseNodeLabels(texts ...string) (labels map[string]string, warnings []string, err error) {
	var errs []error
	var repeated []string
	for _, text := range texts {
		text = unquoted(text)
		if text == "" {
			continue
		}
		for part := range strings.SplitSeq(text, ",") {
			key, value, paired := strings.Cut(unquoted(part), "=")
			value = unquoted(value)
			if paired && kubernetesLabel.MatchString(key) {
				_, name, _ := strings.Cut(key, "/")
				warnings = append(warnings, fmt.Sprintf("label %s is dropped: a cloud provider cannot set labels in kubernetes.io or k8s.io: "+
					"remove it, or use your own prefix, such as %s", quote.Value(key), quote.Plain("example.com/"+name)))
				continue
			}
			wrong := cmp.Or(ParseLabelKey(key), ParseLabelValue(value))
			if !paired {
				wrong = &ValueError{Message: "has no = after its key: write key=value, with commas between labels"}
			}
			if wrong != nil {
				errs = append(errs, fmt.Errorf("label %s %s%s", quote.Value(key), wrong.Message, wrong.Found))
				continue
			}
			if previous, isRepeated := labels[key]; isRepeated && previous != value && !slices.Contains(repeated, key) {
				repeated = append(repeated, key)
			}
			if labels == nil {
				labels = make(map[string]string)
			}
			labels[key] = value
		}
	}
	for _, key := range repeated {
		warnings = append(warnings, fmt.Sprintf("label %s has several values: the last one counts, %s: remove the others", quote.Value(key), quote.Value(labels[key])))
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(errs...)
	}
	return labels, warnings, nil
}

// unquoted removes blanks around a text and quotes around all of it.
func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return s
	}
	inner := s[1 : len(s)-1]
	if strings.IndexByte(inner, s[0]) >= 0 {
		return s
	}
	return strings.TrimSpace(inner)
}

// ParseLabelKey returns an error for an invalid or reserved label key.
func ParseLabelKey(key string) *ValueError {
	const instead = ": use your own prefix, such as example.com/rack"
	reserved := topology.ReservedDomain(key)
	switch {
	case len(validation.IsQualifiedName(key)) > 0:
		return &ValueError{"is not a valid label key: write up to 63 letters, digits, -, _ and ., after a prefix such as example.com/", Found(key)}
	case key == topology.LabelRegion:
		return &ValueError{Message: "is the label of labels.region: set its source there"}
	case key == topology.LabelZone:
		return &ValueError{Message: "is the label of labels.zone: set its source there"}
	case reserved == topology.CSIDomain:
		return &ValueError{Message: "is reserved: the kubelet sets it for the CSI driver, whose registration fails if it is already set" + instead}
	case strings.HasPrefix(key, "topology.kubernetes.io/"):
		return &ValueError{Message: "is reserved: in topology.kubernetes.io, only rack can be the label of a level besides region and zone" + instead}
	case reserved != "":
		return &ValueError{Message: "is reserved: kubernetes.io and k8s.io belong to Kubernetes, " +
			"and a cloud provider cannot set labels in them" + instead}
	case strings.HasPrefix(key, topology.OwnDomain+"/"):
		return &ValueError{Message: "is reserved: " + topology.OwnDomain + "/ is for vzones' own data on a Node" + instead}
	}
	return nil
}

// ParseLabelValue returns an error for an invalid label value.
func ParseLabelValue(value string) *ValueError {
	if value == "" {
		return nil
	}
	if why := topology.InvalidLabelValue(value); why != "" {
		return &ValueError{"is not a valid label value: " + why + ": write a different value", Found(value)}
	}
	return nil
}
