package check

import (
	"errors"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

type categoryCheck struct {
	policy   *topology.Policy
	vcenters []*vcenterFacts
	states   []inventory.State
	nodes    nodeList
	isZoned  bool
}

// definitions checks the cardinality and the associable types of a vCenter's categories.
func (c *categoryCheck) definitions(s *world.Survey) (found []Finding) {
	types := c.taggable()
	for _, category := range s.Categories {
		object := "tag category " + quote.Value(category.Name)
		if category.Multiple {
			found = append(found, Finding{
				ID: "VZ122", VCenter: s.VCenter, Object: object, Text: "an object may have several of its tags",
			})
		}
		if len(category.Types) > 0 && !slices.ContainsFunc(category.Types, func(t string) bool { return slices.Contains(types, t) }) {
			found = append(found, Finding{
				ID: "VZ123", VCenter: s.VCenter, Object: object,
				Text:    "its tags can only be attached to " + quote.Some(plainTexts(category.Types), quote.Most) + ", but no such object is above a VM",
				Command: cli.Shell("govc", "tags.category.update", "-t", "HostSystem", "-t", "ClusterComputeResource", "-t", "Datacenter", category.Name),
			})
		}
	}
	return found
}

func plainTexts(values []string) []string {
	names := make([]string, len(values))
	for i := range values {
		names[i] = quote.Plain(values[i])
	}
	return names
}

// taggable returns the object types on the paths that the policy reads tags of.
func (c *categoryCheck) taggable() []string {
	types := []string{"Folder", "Datacenter"}
	for _, kind := range c.policy.TagPaths() {
		switch kind {
		case topology.ComputePath:
			types = append(types, "HostSystem", "ClusterComputeResource", "ComputeResource")
		case topology.PoolPath:
			types = append(types, "ResourcePool", "VirtualApp", "ClusterComputeResource")
		case topology.FolderPath:
			types = append(types, "VirtualMachine")
		}
	}
	return types
}

func (c *categoryCheck) missing() []Finding {
	nowhere := inventory.InvisibleCategories(c.states)
	found := c.missingEverywhere(nowhere)
	for _, v := range c.vcenters {
		if v.state.Snapshot == nil {
			continue
		}
		for _, category := range v.state.Snapshot.InvisibleCategories {
			if !slices.Contains(nowhere, category) {
				found = append(found, c.missingIn(v, category))
			}
		}
	}
	return found
}

// missingEverywhere reports labels whose category no vCenter has.
func (c *categoryCheck) missingEverywhere(categories []string) (found []Finding) {
	policy := *c.policy
	for _, v := range c.vcenters {
		policy.Visible = append(policy.Visible, v.survey.Visible...)
	}
	slices.Sort(policy.Visible)
	policy.Visible = slices.Compact(policy.Visible)
	isConcerned := func(n *node) bool { return errors.Is(n.Err, topology.ErrNoCategory) }
	for _, conflict := range policy.NoCategory(categories) {
		found = append(found, Finding{
			ID: "VZ120", Object: "label " + conflict.Labels[0], Text: conflict.Text(), HasAdvice: true, Nodes: c.nodes.names(isConcerned),
		})
	}
	return found
}

// missingIn reports a category that other vCenters have.
func (c *categoryCheck) missingIn(v *vcenterFacts, category string) Finding {
	text := "the account sees this category in other vCenters, but not in this one"
	if c.isZoned && slices.Contains(c.policy.VolumeCategories(), category) {
		text += "; without it, the CSI driver's topology service starts for no vCenter"
	}
	if s := v.surveyed(); s != nil {
		if near := quote.Nearest(category, s.Visible); near != "" {
			text += "; did you mean " + quote.Value(near) + "?"
		}
	}
	name := v.state.VCenter
	return Finding{
		ID: "VZ121", VCenter: name, Object: "tag category " + quote.Value(category),
		Text:    text,
		Nodes:   c.nodes.unknownIn(name, topology.ErrNoCategory),
		Command: cli.Shell("govc", "tags.category.create", "-t", "HostSystem", "-t", "ClusterComputeResource", "-t", "Datacenter", category),
	}
}
