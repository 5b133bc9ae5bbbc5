package audit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"vzones/cmd/vzones/finding"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// A csi is what the CSI driver and kubelet keep of each Node.
type csi struct {
	ps *places
	// keys are the topology keys of the driver in the CSINodes, by Node.
	keys map[string][]string
	// used are all of them.
	used map[string]bool
	// values are what the driver would find, by Node and label.
	values map[string]map[string]string
}

// newCSI notes the CSINodes, none if they were not listed.
func newCSI(ps *places, nodes []storagev1.CSINode) *csi {
	c := &csi{ps: ps, keys: map[string][]string{}, used: map[string]bool{}, values: map[string]map[string]string{}}
	for i := range nodes {
		for _, d := range nodes[i].Spec.Drivers {
			if d.Name != topology.CSIDriver {
				continue
			}
			own := slices.DeleteFunc(slices.Clone(d.TopologyKeys), func(key string) bool { return !isCSI(key) })
			c.keys[nodes[i].Name] = own
			for _, key := range own {
				c.used[key] = true
			}
		}
	}
	return c
}

// audit compares the labels that kubelet set for the driver with what it would find now.
func (c *csi) audit(f *findings) {
	for _, p := range c.ps.all {
		keys, registered := c.keys[p.node.Name]
		if registered {
			c.auditKeys(f, p, keys)
		}
		if len(keys) == 0 {
			keys = slices.Sorted(maps.Keys(p.node.Labels))
			keys = slices.DeleteFunc(keys, func(key string) bool { return !isCSI(key) })
		}
		values, err := c.walk(p, keys)
		if errors.Is(err, topology.ErrMissing) {
			f.add(finding.CSITopologyGone, p.stale(quote.Text(err.Error())))
		}
		c.values[p.node.Name] = values
		c.auditLabels(f, p, values)
	}
}

// auditKeys compares a CSINode with the others, and its keys with the labels of the Node.
func (c *csi) auditKeys(f *findings, p *place, keys []string) {
	var missing []string
	for _, key := range slices.Sorted(maps.Keys(c.used)) {
		if !slices.Contains(keys, key) {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		s := p.stale(fmt.Sprintf("driver %s has no topology key %s, which it has on other Nodes", topology.CSIDriver, strings.Join(missing, ", ")))
		s.Ref = Ref{Kind: "CSINode", Name: p.node.Name}
		f.add(finding.CSINodeWithoutKey, s)
	}
	missing = slices.DeleteFunc(slices.Sorted(slices.Values(keys)), func(key string) bool { _, there := p.node.Labels[key]; return there })
	if len(missing) > 0 {
		f.add(finding.CSILabelMissing, p.stale(fmt.Sprintf("label %s is missing, which CSINode %s names as topology key", strings.Join(missing, ", "), p.node.Name)))
	}
}

// walk returns what the driver would find for a Node, by label, nil if that is not known. The error
// is ErrMissing if it would find nothing.
func (c *csi) walk(p *place, keys []string) (map[string]string, error) {
	m := p.look.Place.Machine
	if m == nil || p.look.Waits || p.look.Foreign || len(keys) == 0 {
		return nil, nil
	}
	categories := make([]string, len(keys))
	for i, key := range keys {
		categories[i] = strings.TrimPrefix(key, topology.CSIDomain+"/")
		if !slices.Contains(c.ps.categories, categories[i]) {
			return nil, nil // its tags were not read
		}
	}
	policy := topology.CSIPolicy(categories)
	if in := inventory.StateOf(c.ps.states, m.Ref.VCenter).Snapshot; in != nil {
		policy.Invisible = in.InvisibleCategories
	}
	placed, err := topology.Resolve(policy, m.Paths)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, d := range placed.Decisions {
		if d.Uncertainty() == nil && !dependsOnOrder(placed, d.Label) {
			values[d.Label] = d.Value
		}
	}
	return values, nil
}

// dependsOnOrder reports whether what the driver takes depends on the order of an object's tags.
func dependsOnOrder(placed topology.Placement, label string) bool {
	return slices.ContainsFunc(placed.Conflicts, func(c topology.Conflict) bool {
		return c.Kind == topology.ConflictTagOrder && slices.Contains(c.Labels, label)
	})
}

// auditLabels compares the driver's labels of a Node, and notes what they would be.
func (c *csi) auditLabels(f *findings, p *place, values map[string]string) {
	s := p.stale("")
	s.Has, s.VSphere = map[string]string{}, map[string]string{}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		have, there := p.node.Labels[key]
		if !there || have == values[key] {
			continue
		}
		p.set(key, values[key])
		s.Has[key], s.VSphere[key] = have, values[key]
		s.noteWriter(p.node, "metadata", "labels", key)
		texts = append(texts, fmt.Sprintf("%s is %s, the driver would find %s", key, quote.Value(have), quote.Value(values[key])))
	}
	if len(texts) > 0 {
		s.Text = strings.Join(texts, "; ")
		f.add(finding.CSILabelStale, s)
	}
}

// auditTopology compares a CSINodeTopology with what the driver would find.
func (c *csi) auditTopology(f *findings, o *unstructured.Unstructured) {
	p := c.ps.byName[o.GetName()]
	if p == nil {
		return // it is deleted with its Node
	}
	s := p.stale("")
	s.Ref = Ref{Kind: "CSINodeTopology", Name: o.GetName()}
	s.noteWriter(o, "status")
	s.Command = "kubectl delete csinodetopologies.cns.vmware.com " + o.GetName()
	if state, _, _ := unstructured.NestedString(o.Object, "status", "status"); state == "Error" {
		message, _, _ := unstructured.NestedString(o.Object, "status", "errorMessage")
		s.Text = "the driver says: " + quote.Text(message)
		f.add(finding.CSITopologyFailed, s)
		return
	}
	s.Has, s.VSphere = map[string]string{}, map[string]string{}
	var texts []string
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", "topologyLabels")
	own := map[string]string{}
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		key, _ := entry["key"].(string)
		value, _ := entry["value"].(string)
		if key = strings.TrimPrefix(key, topology.CSIDomain+"/"); key != "" {
			own[topology.CSIDomain+"/"+key] = value
		}
	}
	values := c.values[o.GetName()]
	if len(values) == 0 {
		values, _ = c.walk(p, slices.Sorted(maps.Keys(own)))
	}
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if want, ok := values[key]; ok && want != own[key] {
			s.Has[key], s.VSphere[key] = own[key], want
			texts = append(texts, fmt.Sprintf("%s is %s, the driver would find %s", quote.Plain(key), quote.Value(own[key]), quote.Value(want)))
		}
	}
	if len(texts) > 0 {
		s.Text = strings.Join(texts, "; ")
		f.add(finding.CSITopologyStale, s)
	}
}
