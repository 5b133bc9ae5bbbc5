// Package placed makes the placements and the Nodes of tests about labels. It is no part of package fixture,
// which topology's own tests import and which therefore must not import topology.
package placed

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// Host is one whose tags may not be read.
var Host = &topology.Object{Ref: topology.Ref{VCenter: "east", Type: "HostSystem", ID: "host-1"}, Path: "/dc1/host/c1/h1"}

// ErrUnreadable is why a label is not known.
var ErrUnreadable = fmt.Errorf("%w: tags of /dc1 cannot be read", topology.ErrUnknown)

// In is a placement with these labels, written label=value. An empty value
// is absent, a question mark an undecided label, and with an exclamation mark behind
// the value another object may decide, whose tags may not be read.
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

// Node has labels, written key=value.
func Node(labels ...string) *v1.Node {
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "uid-1", ResourceVersion: "1", Labels: map[string]string{}, Annotations: map[string]string{}}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		n.Labels[key] = value
	}
	return n
}

// Taint gives a Node the taint of drift.
func Taint(n *v1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: nodeinfo.DriftTaint, Effect: v1.TaintEffectNoSchedule})
}
