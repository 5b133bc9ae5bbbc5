package config

import (
	"errors"
	"fmt"
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

// ParseNodeLabels reads labels as key=value,key=value: what the vSphere CPI takes
// as --node-labels. A value may be empty. Without any it returns nil. The error
// holds all that is wrong. Labels that a configuration's rules give are not known
// here: see topology.Policy.Labels.
func ParseNodeLabels(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	labels := make(map[string]string)
	var mistakes []error
	for part := range strings.SplitSeq(text, ",") {
		key, value, paired := strings.Cut(strings.TrimSpace(part), "=")
		var wrong *complaint
		if _, again := labels[key]; again {
			wrong = &complaint{what: "is given twice: remove one of the two"}
		} else if !paired {
			wrong = &complaint{what: "has no = behind its key: write key=value, with a comma between two of them"}
		} else if wrong = parseLabelKey(key); wrong == nil {
			wrong = parseLabelValue(value)
		}
		if wrong != nil {
			mistakes = append(mistakes, fmt.Errorf("label %s %s%s", quote.Value(key), wrong.what, wrong.detail))
			continue
		}
		labels[key] = value
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return labels, nil
}
