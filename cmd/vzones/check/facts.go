package check

import (
	"time"

	"vzones/cmd/vzones/internal/preflight"
	"vzones/cmd/vzones/internal/survey"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
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
	// tagged are the tags of regions and zones, by what surveys have found.
	tagged []topology.Tagged
	// csi is how the cluster uses the CSI driver.
	csi world.CSIDriver
	// nodes are those of the cluster that are ours, none without a cluster.
	nodes   []node
	account account
	now     time.Time
}

// A node is what the daemon makes of a Node. Its Err is nil if nothing is wrong.
type node struct{ *world.Look }

func (n *node) name() string { return n.Node.Name }

// key is the same for Nodes that name one machine, in whatever byte order.
func (n *node) key() string {
	if len(n.Identity.UUIDs) == 0 {
		return n.name()
	}
	u := n.Identity.UUIDs[0]
	return min(u.String(), u.Swapped().String())
}

// vcenterName returns the vCenter of a Node's machine, empty if it is not known.
func (n *node) vcenterName() string {
	if n.Place.VCenter != "" {
		return n.Place.VCenter
	}
	if n.Place.Machine != nil {
		return n.Place.Machine.Ref.VCenter
	}
	return ""
}

// isControlPlane reports whether a Node is of the control plane, by its labels.
func (n *node) isControlPlane() bool {
	for _, label := range []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"} {
		if _, is := n.Node.Labels[label]; is {
			return true
		}
	}
	return false
}

// above returns the nearest object of a type above a Node's machine on the compute path, nil if
// there is none.
func (n *node) above(objectType string) *topology.Object {
	if n.Place.Machine == nil {
		return nil
	}
	for _, p := range n.Place.Machine.Paths {
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
	if n.Place.Machine == nil {
		return nil
	}
	s := f.survey(n.Place.Machine.Ref.VCenter)
	if s == nil {
		return nil
	}
	return s.Machines[n.Place.Machine.Ref.ID]
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
