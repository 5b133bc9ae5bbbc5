package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"vzones/cmd/vzones/finding"
	"vzones/topology/quote"
)

// A spread compares how Pods are spread over the domains of a label by the labels of their Nodes,
// and by where the Nodes are. It counts as the scheduler does, for constraints that it may not
// violate: with the Nodes that fit what the Pods require, whatever their taints.
type spread struct {
	ps *places
	// stale are the labels that any Node has wrong. Pods spread by others are not looked at.
	stale map[string]bool
	// running are the Pods that count, by namespace and by their labels: most share them with others.
	running map[string]map[string]*alike
	// moved are the namespaces and labels with a Pod on a Node that has the label wrong.
	moved  map[[2]string]bool
	groups map[group]*members
}

// alike are Pods with the same labels, by Node.
type alike struct {
	labels labels.Set
	on     map[*place]int32
}

// A group is what Pods with one constraint have in common.
type group struct {
	namespace, selector, key string
	maxSkew                  int32
}

type members struct {
	matches labels.Selector
	// required is what the Pods require of Nodes, whether that is their place or not.
	required nodeaffinity.RequiredNodeAffinity
	owner    Ref
}

func newSpread(ps *places) *spread {
	s := &spread{ps: ps, stale: map[string]bool{}, running: map[string]map[string]*alike{}, moved: map[[2]string]bool{}, groups: map[group]*members{}}
	for _, p := range ps.all {
		for key := range maps.Keys(p.node.Labels) {
			s.stale[key] = s.stale[key] || p.differs(key)
		}
		for key := range maps.Keys(p.labels) {
			s.stale[key] = s.stale[key] || p.differs(key)
		}
	}
	maps.DeleteFunc(s.stale, func(_ string, is bool) bool { return !is })
	return s
}

// add notes a Pod on a Node.
func (s *spread) add(pod *v1.Pod, p *place) {
	if len(s.stale) == 0 {
		return
	}
	s.note(pod, p)
	for key := range s.stale {
		if p.differs(key) {
			s.moved[[2]string{pod.Namespace, key}] = true
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != v1.DoNotSchedule || !s.stale[c.TopologyKey] {
			continue
		}
		matches := selectorOf(c, pod)
		if matches == nil {
			continue
		}
		g := group{pod.Namespace, matches.String(), c.TopologyKey, c.MaxSkew}
		if s.groups[g] != nil {
			continue
		}
		m := &members{matches: matches, owner: ownerOf(pod)}
		if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
			m.required = nodeaffinity.GetRequiredNodeAffinity(pod)
		}
		s.groups[g] = m
	}
}

// note counts a Pod.
func (s *spread) note(pod *v1.Pod, p *place) {
	in := s.running[pod.Namespace]
	if in == nil {
		in = map[string]*alike{}
		s.running[pod.Namespace] = in
	}
	key := labels.Set(pod.Labels).String()
	if in[key] == nil {
		in[key] = &alike{pod.Labels, map[*place]int32{}}
	}
	in[key].on[p]++
}

// selectorOf returns which Pods a constraint counts, nil if it is not valid.
func selectorOf(c *v1.TopologySpreadConstraint, pod *v1.Pod) labels.Selector {
	all := c.LabelSelector.DeepCopy()
	for _, key := range c.MatchLabelKeys {
		if value, there := pod.Labels[key]; there && all != nil {
			metav1.AddLabelToSelector(all, key, value)
		}
	}
	matches, err := metav1.LabelSelectorAsSelector(all)
	if err != nil {
		return nil
	}
	return matches
}

// ownerOf names what made a Pod, or the Pod.
func ownerOf(pod *v1.Pod) Ref {
	for _, o := range pod.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return Ref{Kind: quote.Plain(o.Kind), Namespace: pod.Namespace, Name: quote.Plain(o.Name)}
		}
	}
	return Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}
}

// audit adds the groups that are uneven where the labels say that they are not.
func (s *spread) audit(f *findings) {
	for g, m := range s.groups {
		if !s.moved[[2]string{g.namespace, g.key}] {
			continue
		}
		byLabels, now := s.count(g, m, true), s.count(g, m, false)
		if skew(byLabels) > g.maxSkew || skew(now) <= g.maxSkew {
			continue
		}
		stale := Stale{Ref: m.owner}
		stale.Text = fmt.Sprintf("maxSkew %d by %s: the labels say %s, vSphere says %s", g.maxSkew, g.key, counts(byLabels), counts(now))
		f.add(finding.PodsUneven, stale)
	}
}

// count returns how many Pods of a group are in each domain that they may be in.
func (s *spread) count(g group, m *members, own bool) map[string]int32 {
	in := map[string]int32{}
	domain := func(p *place) (string, bool) {
		n := p.as()
		if own {
			n = p.node
		}
		value, there := n.Labels[g.key]
		if !there {
			return "", false
		}
		fits, err := m.required.Match(n)
		return value, fits && err == nil
	}
	for _, p := range s.ps.all {
		if value, counts := domain(p); counts {
			in[value] += 0
		}
	}
	for _, pods := range s.running[g.namespace] {
		if !m.matches.Matches(pods.labels) {
			continue
		}
		for p, n := range pods.on {
			if value, counts := domain(p); counts {
				in[value] += n
			}
		}
	}
	return in
}

// skew returns how many Pods more the fullest domain has than the emptiest.
func skew(in map[string]int32) int32 {
	if len(in) == 0 {
		return 0
	}
	all := slices.Collect(maps.Values(in))
	return slices.Max(all) - slices.Min(all)
}

func counts(in map[string]int32) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(in)) {
		parts = append(parts, fmt.Sprintf("%s: %d", quote.Plain(value), in[value]))
	}
	return strings.Join(parts, ", ")
}
