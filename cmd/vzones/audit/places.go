package audit

import (
	"errors"
	"maps"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/cmd/vzones/world"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// A place is what vSphere says of one Node.
type place struct {
	node *v1.Node
	look *world.Look
	// known reports whether it is known where the Node is. Otherwise nothing about it is stale.
	known bool
	// labels are those that the Node would have if each was that of its place. For a Node of which
	// nothing is known they are its own.
	labels map[string]string
	// now is as, nil until it is asked for.
	now *v1.Node
}

// as returns the Node with its labels as they would be.
func (p *place) as() *v1.Node {
	if p.now == nil {
		p.now = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.node.Name, Labels: p.labels}}
	}
	return p.now
}

// vcenter returns the name of the vCenter that has the Node's machine, empty if that is not known.
func (p *place) vcenter() string { return p.look.Place.VCenter }

// says returns what vSphere says about a label of the Node, if it is known to say anything.
func (p *place) says(label string) (string, bool) {
	if !p.known || p.look.Place.Placement.WhyUndecided(label) != nil {
		return "", false
	}
	for _, d := range p.look.Place.Placement.Decisions {
		if d.Label == label {
			return d.Value, d.Uncertainty() == nil
		}
	}
	return "", false
}

// differs reports whether a label of the Node is not that of its place.
func (p *place) differs(label string) bool { return p.known && p.node.Labels[label] != p.labels[label] }

// places are all Nodes.
type places struct {
	byName map[string]*place
	// all are in the order of their names.
	all []*place
	// levels are the labels of the configuration.
	levels map[string]bool
	// categories are the tag categories that were read.
	categories []string
	states     []inventory.State
}

// newPlaces looks at all Nodes of a World.
func newPlaces(w *world.World) *places {
	policy := w.Placer.Topology().Policy
	ps := &places{byName: make(map[string]*place, len(w.Nodes)), levels: map[string]bool{}, categories: policy.Categories(), states: w.States}
	for _, label := range policy.Labels() {
		ps.levels[label] = true
	}
	for _, n := range w.Nodes {
		p := newPlace(w.Look(n))
		ps.byName[n.Name] = p
		ps.all = append(ps.all, p)
	}
	return ps
}

func newPlace(l *world.Look) *place {
	p := &place{node: l.Node, look: l, labels: l.Node.Labels}
	placed := l.Err == nil || l.Place.AddressErr != nil && errors.Is(l.Err, l.Place.AddressErr) || len(l.Place.Placement.Decisions) > 0
	p.known = !l.Foreign && !l.Waits && l.Place.Machine != nil && placed
	if !p.known {
		return p
	}
	for _, d := range l.Differences {
		if d.Label == plan.LabelType || !d.IsCertain() && !d.Missing {
			continue
		}
		for _, key := range plan.StableAndBeta(d.Label) {
			p.set(key, d.Want)
		}
	}
	return p
}

// set notes what a label would be, empty for none. The Node's own labels are not changed.
func (p *place) set(key, value string) {
	labels := maps.Clone(p.labels)
	if labels == nil {
		labels = map[string]string{}
	}
	if labels[key] = value; value == "" {
		delete(labels, key)
	}
	p.labels, p.now = labels, nil
}

// isTopology reports whether a label says where a Node is.
func (ps *places) isTopology(key string) bool {
	return !plan.IsLevel(key) || ps.levels[key] || isCSI(key)
}

func isCSI(key string) bool { return strings.HasPrefix(key, topology.CSIDomain+"/") }
