package audit

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vzones/cmd/vzones/finding"
	"vzones/topology"
	"vzones/topology/quote"
)

// A clusterAPI compares the failure domains of Machines with the places of their Nodes. The Machines
// of other clusters, which a management cluster has too, have no Node here.
type clusterAPI struct {
	ps *places
	// byID are the Nodes by their provider ID, in lower case.
	byID map[string]*place
	// zones are the VSphereDeploymentZones by name, with the names of their failure domains, nil if
	// they are not known. domains are the VSphereFailureDomains by name.
	zones   map[string]string
	domains map[string]*unstructured.Unstructured
}

func newClusterAPI(ps *places) *clusterAPI {
	c := &clusterAPI{ps: ps, byID: map[string]*place{}}
	for _, p := range ps.all {
		if id := p.node.Spec.ProviderID; id != "" {
			c.byID[strings.ToLower(id)] = p
		}
	}
	return c
}

// noteZone notes a VSphereDeploymentZone.
func (c *clusterAPI) noteZone(o *unstructured.Unstructured) {
	c.zones[o.GetName()], _, _ = unstructured.NestedString(o.Object, "spec", "failureDomain")
}

// noteDomain notes a VSphereFailureDomain.
func (c *clusterAPI) noteDomain(o *unstructured.Unstructured) { c.domains[o.GetName()] = o }

// audit compares a Machine or a VSphereMachine.
func (c *clusterAPI) audit(f *findings, kind *finding.Kind, o *unstructured.Unstructured) {
	id, _, _ := unstructured.NestedString(o.Object, "spec", "providerID")
	asked, _, _ := unstructured.NestedString(o.Object, "spec", "failureDomain")
	p := c.byID[strings.ToLower(id)]
	if p == nil || asked == "" || o.GetDeletionTimestamp() != nil || isOther(o) {
		return
	}
	s := p.stale("")
	s.Ref = Ref{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
	s.noteWriter(o, "spec", "failureDomain")
	name, there := c.zones[asked]
	domain := c.domains[name]
	switch {
	case c.zones == nil || c.domains == nil:
		return
	case !there:
		s.Text = fmt.Sprintf("there is no VSphereDeploymentZone %s", quote.Plain(asked))
		f.add(finding.FailureDomainGone, s)
		return
	case domain == nil:
		s.Text = fmt.Sprintf("there is no VSphereFailureDomain %s, which VSphereDeploymentZone %s names", quote.Plain(name), quote.Plain(asked))
		f.add(finding.FailureDomainGone, s)
		return
	}
	var texts []string
	s.Has, s.VSphere = map[string]string{}, map[string]string{}
	for _, level := range [...]string{"region", "zone"} {
		tag, _, _ := unstructured.NestedString(domain.Object, "spec", level, "name")
		category, _, _ := unstructured.NestedString(domain.Object, "spec", level, "tagCategory")
		if now, ok := p.tagOf(category); ok && now != tag {
			s.Has[level], s.VSphere[level] = tag, now
			texts = append(texts, fmt.Sprintf("%s %s, vSphere says %s of Node %s", level, quote.Value(tag), quote.Value(now), p.node.Name))
		}
	}
	if len(texts) > 0 {
		s.Text = fmt.Sprintf("failure domain %s is %s", quote.Plain(asked), strings.Join(texts, ", "))
		f.add(kind, s)
	}
}

// isOther reports whether a Machine is made by something else than VSphereMachines of this API
// group. A Supervisor's have failure domains of another kind, which are called availability zones.
func isOther(o *unstructured.Unstructured) bool {
	by, there, _ := unstructured.NestedMap(o.Object, "spec", "infrastructureRef")
	if !there {
		return false
	}
	group, _ := by["apiGroup"].(string) // since v1beta2
	if version, ok := by["apiVersion"].(string); ok && group == "" {
		group, _, _ = strings.Cut(version, "/")
	}
	return group != "" && group != vsphereGroup
}

// tagOf returns the name of the tag of a category that decides for a Node, if that is known.
func (p *place) tagOf(category string) (string, bool) {
	if !p.known || category == "" {
		return "", false
	}
	all := p.look.Place.Placement.Decisions
	i := slices.IndexFunc(all, func(d topology.Decision) bool { return d.Category == category && d.Uncertainty() == nil })
	if i < 0 {
		return "", false
	}
	if all[i].Plain != "" {
		return all[i].Plain, true
	}
	return all[i].Value, true
}
