package nodes

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// placedIn is a placement with these labels, written label=value. An empty value
// is absent, a question mark an undecided label, and with an exclamation mark behind
// the value another object may decide, whose tags may not be read.
func placedIn(labels ...string) topology.Placement {
	var p topology.Placement
	for _, l := range labels {
		label, value, _ := strings.Cut(l, "=")
		value, unread := strings.CutSuffix(value, "!")
		switch value {
		case "":
		case "?":
			p.Undecided = append(p.Undecided, topology.Undecided{Label: label, Err: errUnreadable})
		default:
			p.Decisions = append(p.Decisions, topology.Decision{
				Label: label, Value: value, Category: "c",
				By: &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ClusterComputeResource", ID: "domain-c1"}, Path: "/dc1/host/c1"},
			})
			if unread {
				p.Decisions[len(p.Decisions)-1].Unread = []*topology.Object{aHost}
				p.Conflicts = []topology.Conflict{{Kind: topology.ConflictUnread, Labels: []string{label}, Objects: []*topology.Object{aHost}}}
			}
		}
	}
	return p
}

// aNode has labels, written key=value.
func aNode(labels ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-1", ResourceVersion: "1", Labels: map[string]string{}, Annotations: map[string]string{}}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		n.Labels[key] = value
	}
	return n
}

func withTaint(n *v1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: nodeinfo.DriftTaint, Effect: v1.TaintEffectNoSchedule})
}
