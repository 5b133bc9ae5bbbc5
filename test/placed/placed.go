// Package placed creates placements and Nodes for tests of labels. It is separate from package fixture, which must
// not import topology because topology's own tests import it.
package placed

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// Host is a host with unreadable tags.
var Host = &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "HostSystem", ID: "host-1"}, Path: "/dc1/host/c1/h1"}

// ErrUnreadable is the reason for an undecided label.
var ErrUnreadable = fmt.Errorf("%w: tags of /dc1 cannot be read", topology.ErrUnknown)

// In returns a placement with labels, written label=value. An empty value is absent and ? is undecided. A ! after
// the value means that an object with unreadable tags could decide another value.
func In(labels ...string) topology.Placement {
	var p topology.Placement
	for _, l := range labels {
		label, value, _ := strings.Cut(l, "=")
		value, unread := strings.CutSuffix(value, "!")
		switch value {
		case "":
		case "?":
			p.Undecided = append(p.Undecided, topology.Undecided{Label: label, Err: ErrUnreadable})
		default:
			p.Decisions = append(p.Decisions, topology.Decision{
				Label: label, Value: value, Category: "c",
				By: &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "ClusterComputeResource", ID: "domain-c1"}, Path: "/dc1/host/c1"},
			})
			if unread {
				p.Decisions[len(p.Decisions)-1].Unread = []*topology.Object{Host}
				p.Conflicts = []topology.Conflict{{Kind: topology.ConflictUnread, Labels: []string{label}, Objects: []*topology.Object{Host}}}
			}
		}
	}
	return p
}

// Node returns a Node with labels, written key=value.
func Node(labels ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-1", ResourceVersion: "1", Labels: map[string]string{}, Annotations: map[string]string{}}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		n.Labels[key] = value
	}
	return n
}

// Taint adds the drift taint to a Node.
func Taint(n *v1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: nodeinfo.DriftTaint, Effect: v1.TaintEffectNoSchedule})
}
