package audit

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/topology"
)

// TestSpread: Pods are uneven by where their Nodes are, and even by the labels. Nodes that they cannot
// be scheduled to do not count, whatever they lack.
func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		// nodes are the zone of a Node by its label, its zone by vSphere, its kind of disk, and how many
		// Pods are on it.
		nodes []aNode
		found bool
	}{
		"even":                     {[]aNode{{"a", "a", "ssd", 1}, {"b", "b", "ssd", 1}}, false},
		"moved":                    {[]aNode{{"a", "a", "ssd", 1}, {"b", "a", "ssd", 1}, {"b", "b", "ssd", 0}}, true},
		"another kind has moved":   {[]aNode{{"a", "a", "ssd", 2}, {"b", "b", "ssd", 2}, {"a", "c", "hdd", 1}}, false},
		"another kind in its zone": {[]aNode{{"a", "a", "ssd", 2}, {"b", "a", "ssd", 2}, {"c", "c", "hdd", 0}, {"b", "b", "ssd", 0}}, true},
	} {
		ps := &places{byName: map[string]*place{}}
		var pods []*v1.Pod
		for i, n := range c.nodes {
			p := n.place(string(rune('0' + i)))
			ps.all, ps.byName[p.node.Name] = append(ps.all, p), p
			for range n.pods {
				pods = append(pods, spreadPod(p.node))
			}
		}
		s, f := newSpread(ps), &findings{}
		for i := range pods {
			s.add(pods[i], ps.byName[pods[i].Spec.NodeName])
		}
		s.audit(f)
		if got := len(f.all) > 0; got != c.found {
			t.Errorf("%s: %+v", name, f.all)
		}
	}
}

type aNode struct {
	label, zone, disk string
	pods              int
}

func (n *aNode) place(name string) *place {
	labels := func(zone string) map[string]string {
		return map[string]string{topology.LabelZone: zone, "disk": n.disk}
	}
	return &place{node: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels(n.label)}}, known: true, labels: labels(n.zone)}
}

// spreadPod is a Pod on a Node, of those that are spread over the Nodes with an SSD.
func spreadPod(n *v1.Node) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"app": "x"}}}
	pod.Spec.NodeName = n.Name
	pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: topology.LabelZone, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
	}}
	return pod
}
