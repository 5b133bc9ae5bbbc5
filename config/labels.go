package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"vzones/topology"
	"vzones/topology/quote"
)

// A table is a mapping whose keys and values are any text.
type table struct {
	rows []row
}

type row struct {
	key   string
	at    position
	value text
}

func (d *decoder) table(p pair, into *table) {
	if !d.isMapping(p.node, p.at) {
		return
	}
	for _, entry := range d.pairs(p.node, p.at, whole, whole) {
		into.rows = append(into.rows, row{entry.name, entry.at, d.text(entry.node, entry.at)})
	}
}

// nodeLabels checks the labels that each Node gets.
func (c *checker) nodeLabels(t table, levels []*level) map[string]string {
	var labels map[string]string
	for _, r := range t.rows {
		if r.value.bad {
			continue
		}
		key := text{v: r.key, at: r.at}
		i := slices.IndexFunc(levels, func(l *level) bool { return l.label.usable() && l.label.v == r.key })
		switch {
		case c.complain(key, parseLabelKey(r.key)):
		case i >= 0:
			c.errorf(r.at, "is the label of %v too: remove one of the two", levels[i].at)
		case c.complain(text{at: r.at, mute: r.value.mute}, parseLabelValue(r.value.v)):
		default:
			if labels == nil {
				labels = make(map[string]string)
			}
			labels[r.key] = r.value.v
		}
	}
	return labels
}

// parseLabelValue checks the value of a label. It may be empty.
func parseLabelValue(value string) *complaint {
	if value == "" {
		return nil
	}
	if why := topology.InvalidLabelValue(value); why != "" {
		return &complaint{"has no label's value: " + why + ": write another one", found(value)}
	}
	return nil
}

// kubernetesLabel matches the keys of labels that the framework keeps off a Node if
// they come from a cloud provider.
var kubernetesLabel = regexp.MustCompile(`(^|\.)(kubernetes|k8s)\.io/`)

// ParseNodeLabels reads labels as key=value,key=value, of any number of texts: what the
// vSphere CPI takes as --node-labels. A value may be empty. Quotes around a text, a pair
// or a value do not count, as they are what a manifest leaves of a shell's. Of a key that
// is there twice the last value counts, and a key of Kubernetes' own is dropped, as in
// the CPI; the warnings say so. Without any label it returns nil. The error holds all
// that is wrong. Labels that a configuration's rules give are not known here: see
// topology.Policy.Labels.
func ParseNodeLabels(texts ...string) (labels map[string]string, warnings []string, err error) {
	var mistakes []error
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
				warnings = append(warnings, fmt.Sprintf("label %s is dropped: no Node keeps a cloud provider's label in kubernetes.io and k8s.io: "+
					"remove it, or write a prefix of your own, such as %s", quote.Value(key), quote.Plain("example.com/"+name)))
				continue
			}
			if wrong := parseNodeLabel(key, value, paired); wrong != nil {
				mistakes = append(mistakes, fmt.Errorf("label %s %s%s", quote.Value(key), wrong.what, wrong.detail))
				continue
			}
			if before, again := labels[key]; again && before != value && !slices.Contains(repeated, key) {
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
	if len(mistakes) > 0 {
		return nil, nil, errors.Join(mistakes...)
	}
	return labels, warnings, nil
}

// parseNodeLabel checks one label, paired if there is a = between key and value.
func parseNodeLabel(key, value string, paired bool) *complaint {
	if !paired {
		return &complaint{what: "has no = behind its key: write key=value, with a comma between two of them"}
	}
	if wrong := parseLabelKey(key); wrong != nil {
		return wrong
	}
	return parseLabelValue(value)
}

// unquoted returns a text without blanks around it, nor the quotes that are around all
// of it.
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
