package check

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/preflight"
	"vzones/vcenter/survey"
)

// facts are all that was read. Findings follow from them alone. The slices by vCenter are in
// configured order.
type facts struct {
	config *config.Config
	states []inventory.State
	// health has what else is known of each vCenter, reports what came of reaching it.
	health  []vcenter.Health
	reports []preflight.Report
	surveys []survey.Survey
	// tagged are the tags of regions and zones, and usage why those of a vCenter are not known.
	tagged []topology.Tagged
	usage  []vcenter.TagUsage
	// nodes are those of the cluster that are ours, none without a cluster.
	nodes []node
	now   time.Time
}

// A node is a Node with what the placer says of it.
type node struct {
	*v1.Node
	place placement.Place
	// err is why it has no certain place or would get no address, nil if nothing is wrong.
	err error
	// key is the same for Nodes that name one machine.
	key string
}

// vcenterName returns the vCenter of a Node's machine, empty if it is not known.
func (n *node) vcenterName() string {
	if n.place.VCenter != "" {
		return n.place.VCenter
	}
	if n.place.Machine != nil {
		return n.place.Machine.Ref.VCenter
	}
	return ""
}

// isControlPlane reports whether a Node is of the control plane, by its labels.
func (n *node) isControlPlane() bool {
	for _, label := range []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"} {
		if _, is := n.Labels[label]; is {
			return true
		}
	}
	return false
}

// above returns the nearest object of a type above a Node's machine on the compute path, nil if
// there is none.
func (n *node) above(objectType string) *topology.Object {
	if n.place.Machine == nil {
		return nil
	}
	for _, p := range n.place.Machine.Paths {
		if p.Kind != topology.ComputePath {
			continue
		}
		for _, o := range p.Objects {
			if o.Ref.Type == objectType {
				return o
			}
		}
	}
	return nil
}

// settings returns what else was read of a Node's machine, nil if it was not.
func (f *facts) settings(n *node) *survey.Machine {
	if n.place.Machine == nil {
		return nil
	}
	s := f.survey(n.place.Machine.Ref.VCenter)
	if s == nil {
		return nil
	}
	return s.Machines[n.place.Machine.Ref.ID]
}

// survey returns that of a vCenter, nil if there is none.
func (f *facts) survey(vcenter string) *survey.Survey {
	for i := range f.surveys {
		if f.surveys[i].VCenter == vcenter && f.surveys[i].Err == nil {
			return &f.surveys[i]
		}
	}
	return nil
}
