package audit

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"vzones/topology/quote"
)

// A selector is what something requires of the place of a Node.
type selector struct {
	// text says it, for a person. Equal texts are equal selectors.
	text string
	*nodeaffinity.NodeSelector
}

// selectors are those of the objects of one cluster. Many have the same.
type selectors struct {
	ps     *places
	exists map[existence]bool
}

type existence struct {
	text string
	own  bool
}

// of returns what a node selector requires of the place of a Node, nil if that is nothing: what it
// requires of other labels is left out.
func (s *selectors) of(required *v1.NodeSelector) *selector {
	if required == nil {
		return nil
	}
	kept := &v1.NodeSelector{}
	var texts []string
	for i := range required.NodeSelectorTerms {
		term := &required.NodeSelectorTerms[i]
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // such a term matches no Node
		}
		var of []v1.NodeSelectorRequirement
		for _, r := range term.MatchExpressions {
			if s.ps.isTopology(r.Key) {
				of = append(of, r)
			}
		}
		if len(of) == 0 {
			return nil // one term suffices
		}
		kept.NodeSelectorTerms = append(kept.NodeSelectorTerms, v1.NodeSelectorTerm{MatchExpressions: of})
		texts = append(texts, describe(of))
	}
	if len(texts) == 0 {
		return nil
	}
	slices.Sort(texts)
	compiled, err := nodeaffinity.NewNodeSelector(kept)
	if err != nil {
		return nil // the API server takes none such
	}
	return &selector{strings.Join(slices.Compact(texts), " or "), compiled}
}

// describe says what a term requires.
func describe(of []v1.NodeSelectorRequirement) string {
	parts := make([]string, len(of))
	for i, r := range of {
		values := make([]string, len(r.Values))
		for j, v := range r.Values {
			values[j] = quote.Plain(v)
		}
		switch {
		case r.Operator == v1.NodeSelectorOpIn && len(values) == 1:
			parts[i] = r.Key + "=" + values[0]
		case len(values) == 0:
			parts[i] = fmt.Sprintf("%s %s", r.Key, r.Operator)
		default:
			slices.Sort(values)
			parts[i] = fmt.Sprintf("%s %s (%s)", r.Key, r.Operator, strings.Join(values, ", "))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " and ")
}

// existsOwn reports whether a Node fits by its own labels.
func (s *selectors) existsOwn(sel *selector) bool { return s.any(sel, true) }

// existsNow reports whether a Node fits by where it is.
func (s *selectors) existsNow(sel *selector) bool { return s.any(sel, false) }

func (s *selectors) any(sel *selector, own bool) bool {
	key := existence{sel.text, own}
	if found, ok := s.exists[key]; ok {
		return found
	}
	found := slices.ContainsFunc(s.ps.all, func(p *place) bool {
		if own {
			return sel.Match(p.node)
		}
		return sel.Match(p.as())
	})
	if s.exists == nil {
		s.exists = map[existence]bool{}
	}
	s.exists[key] = found
	return found
}

// ofPod returns what a Pod's nodeSelector and its node affinity require of the place of a Node.
func (s *selectors) ofPod(pod *v1.Pod) []*selector {
	var all []*selector
	if len(pod.Spec.NodeSelector) > 0 {
		var of []v1.NodeSelectorRequirement
		for key, value := range pod.Spec.NodeSelector {
			of = append(of, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
		}
		all = append(all, s.of(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: of}}}))
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		all = append(all, s.of(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution))
	}
	return slices.DeleteFunc(all, func(sel *selector) bool { return sel == nil })
}
