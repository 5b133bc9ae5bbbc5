package audit

import (
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"vzones/cmd/vzones/finding"
	"vzones/topology"
	"vzones/topology/quote"
)

// ownController is the value of the label of EndpointSlices that the controller of Kubernetes writes.
const ownController = "endpointslice-controller.k8s.io"

// endpoints compares EndpointSlices with the places of their Nodes.
type endpoints struct {
	ps *places
	// zones are those that Nodes are in.
	zones    map[string]bool
	findings *findings
}

func newEndpoints(ps *places, f *findings) *endpoints {
	e := &endpoints{ps: ps, zones: map[string]bool{}, findings: f}
	for _, p := range ps.all {
		e.zones[p.labels[topology.LabelZone]] = true
	}
	return e
}

// audit compares one slice: the zones of its endpoints, and otherwise their hints.
func (e *endpoints) audit(slice *discoveryv1.EndpointSlice) {
	if slice.DeletionTimestamp != nil {
		return
	}
	var stale, hints []string
	var first *place
	nodeIsStale := false
	s := Stale{Ref: Ref{Kind: "EndpointSlice", Namespace: slice.Namespace, Name: slice.Name}}
	s.noteWriter(slice, "endpoints")
	for i := range slice.Endpoints {
		ep := &slice.Endpoints[i]
		if text, p := e.compare(slice, ep); p != nil {
			if stale = append(stale, text); first == nil {
				first = p
			}
			nodeIsStale = nodeIsStale || p.differs(topology.LabelZone)
		}
		if ep.Hints == nil {
			continue
		}
		for _, hint := range ep.Hints.ForZones {
			if text := fmt.Sprintf("zone %s", quote.Value(hint.Name)); !e.zones[hint.Name] && !slices.Contains(hints, text) {
				hints = append(hints, text)
			}
		}
	}
	if service := slice.Labels[discoveryv1.LabelServiceName]; service != "" && !nodeIsStale {
		s.Command = fmt.Sprintf(`kubectl annotate service %s -n %s --overwrite example.com/zones-changed="$(date +%%s)"`, service, slice.Namespace)
	}
	switch {
	case len(stale) > 0:
		s.Node, s.VCenter = first.node.Name, first.vcenter()
		s.Text = fmt.Sprintf("%d of %d endpoints: %s", len(stale), len(slice.Endpoints), quote.Reasons(stale, quote.Most))
		e.findings.add(finding.SliceZoneStale, s)
	case len(hints) > 0:
		s.Text = "no Node is in " + quote.Some(hints, quote.Most) + " of its hints"
		e.findings.add(finding.SliceHintStale, s)
	}
}

// compare returns how the zone of an endpoint is not that of its Node, and the Node, nil if it is or
// that is not known. A slice that somebody else writes need not have zones.
func (e *endpoints) compare(slice *discoveryv1.EndpointSlice, ep *discoveryv1.Endpoint) (string, *place) {
	if ep.NodeName == nil {
		return "", nil
	}
	p := e.ps.byName[*ep.NodeName]
	if p == nil {
		return "", nil
	}
	want, ok := p.says(topology.LabelZone)
	address := "an endpoint"
	if len(ep.Addresses) > 0 {
		address = quote.Plain(ep.Addresses[0])
	}
	switch {
	case !ok:
	case ep.Zone == nil && slice.Labels[discoveryv1.LabelManagedBy] == ownController:
		return fmt.Sprintf("%s on Node %s has no zone, vSphere says %s", address, p.node.Name, quote.Value(want)), p
	case ep.Zone != nil && *ep.Zone != want:
		return fmt.Sprintf("%s on Node %s has zone %s, vSphere says %s", address, p.node.Name, quote.Value(*ep.Zone), quote.Value(want)), p
	}
	return "", nil
}
