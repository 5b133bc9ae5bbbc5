package topology

import (
	"fmt"
	"slices"
	"strings"

	"vzones/internal/quote"
)

// ParseTemplate reads the value of a rule for a label, such as {region}-{zone}. In
// braces is the name of another source: region or zone, a part of the inventory,
// tag:CATEGORY, or one of the labels. The rule's own label means its own source. Text
// around them stands as it is. The error says what is wrong and what to write.
func ParseTemplate(text, label string, labels []string) (Template, error) {
	var t Template
	for rest := text; rest != ""; {
		before, after, opened := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("has a } without a { before it: write the name of a source between the two")
		}
		if before != "" {
			if InvalidLabelValue("a"+before+"a") != "" {
				return nil, fmt.Errorf("has the text %q, which no label value can have: write letters, digits, -, _ and . around the braces", before)
			}
			t = append(t, Part{Text: before})
		}
		if !opened {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		if !closed || strings.Contains(name, "{") {
			return nil, fmt.Errorf("has a { without a } behind it: write the name of a source between the two")
		}
		part, err := parsePart(name, label, labels)
		if err != nil {
			return nil, err
		}
		t, rest = append(t, part), behind
	}
	if !slices.ContainsFunc(t, Part.isSource) {
		return nil, fmt.Errorf("names no source, so that all Nodes had the same value: write one in braces, such as {region}")
	}
	return t, nil
}

func parsePart(name, label string, labels []string) (Part, error) {
	key := name
	switch name {
	case "region":
		key = LabelRegion
	case "zone":
		key = LabelZone
	}
	category, isTag := strings.CutPrefix(name, "tag:")
	switch {
	case key == label:
		return Part{Own: true}, nil
	case slices.Contains(labels, key):
		return Part{Label: key}, nil
	case key == LabelRegion, key == LabelZone:
		return Part{}, fmt.Errorf("names {%s}, and nothing gives that label a value: write what does under labels", name)
	case isTag && strings.TrimSpace(category) != "" && strings.TrimSpace(category) == category:
		return Part{Category: category}, nil
	case slices.Contains(Inventories(), Inventory(name)):
		return Part{Inventory: Inventory(name)}, nil
	}
	known := make([]string, len(Inventories()))
	for i, what := range Inventories() {
		known[i] = "{" + string(what) + "}"
	}
	return Part{}, fmt.Errorf("names the source {%s}, which is not known: write {region}, {zone}, the label of a level in braces, {tag:CATEGORY} or one of %s",
		quote.Name(name), strings.Join(known, ", "))
}

// Cycle returns labels of which each is composed of the next one, and the last of
// the first. It returns nothing if there are none.
func (p Policy) Cycle() []string {
	for _, label := range p.Labels() {
		if cycle := p.cycle([]string{label}); cycle != nil {
			return cycle
		}
	}
	return nil
}

// cycle returns the cycle through the first of the labels, each of which is composed
// of the next.
func (p *Policy) cycle(labels []string) []string {
	rule := p.rule(labels[len(labels)-1])
	if rule == nil {
		return nil
	}
	for _, part := range rule.Value {
		switch {
		case part.Label == "":
		case part.Label == labels[0]:
			return labels
		case slices.Contains(labels, part.Label):
			// A cycle without the first, which is found from one of its own.
		default:
			if found := p.cycle(append(labels[:len(labels):len(labels)], part.Label)); found != nil {
				return found
			}
		}
	}
	return nil
}
