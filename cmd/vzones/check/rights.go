package check

import (
	"errors"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

// mayMiss reports whether the place of a Node or a host below an object is not known.
func (f *facts) mayMiss(o *topology.Object, places []world.HostPlace) bool {
	below := func(p topology.Path) bool {
		return slices.ContainsFunc(p.Objects, func(above *topology.Object) bool { return above.Ref.ID == o.Ref.ID })
	}
	return slices.ContainsFunc(places, func(p world.HostPlace) bool {
		isUnknown := func(u topology.Undecided) bool { return errors.Is(u.Err, topology.ErrUnknown) }
		return slices.ContainsFunc(p.Placement.Undecided, isUnknown) && p.Host.Ref.VCenter == o.Ref.VCenter && below(p.Up)
	}) || slices.ContainsFunc(f.nodes, func(n *node) bool {
		return errors.Is(n.Err, topology.ErrUnknown) && n.Place.VCenter == o.Ref.VCenter && n.Place.Machine != nil && slices.ContainsFunc(n.Place.Machine.Paths, below)
	})
}

// isUnread reports whether the account may not read the tags of an object, or the tagging service does not know it.
func isUnread(o *topology.Object) bool {
	return errors.Is(o.TagsErr, topology.ErrNotPermitted) || errors.Is(o.TagsErr, tags.ErrDeleted)
}

// unread finds the hosts and what is above hosts whose tags may not be read. Folders that vSphere makes hardly
// anybody tags, and usual roles leave them out: these are found where a tag on them may be missed.
func (f *facts) unread(i int, places []world.HostPlace) (found []Finding) {
	s, outside := &f.surveys[i], f.outside(i)
	for _, o := range s.Objects {
		up := o.Up()
		if !isUnread(o.Object) || outside[o.Ref.ID] || topology.IsSystemFolder(&up, 0) && !f.mayMiss(o.Object, places) {
			continue
		}
		one := Finding{ID: "VZ119", VCenter: s.VCenter, Object: named(o.Object), Text: o.TagsErr.Error()}
		if errors.Is(o.TagsErr, tags.ErrDeleted) {
			one.Advice = "Run the command again after a minute. If the object is found again, look at the vCenter's services."
		} else if s.About.User != "" {
			one.Command = cli.Shell("govc", "permissions.set", "-principal", s.About.User, "-role", "ReadOnly", "-propagate=false", o.Path)
		}
		found = append(found, one)
	}
	return found
}

// tagging finds out whether tags can be read.
func (f *facts) tagging(i int) (found []Finding) {
	cfg, s := &f.config.VCenters[i], f.survey(f.states[i].VCenter)
	var err error
	switch {
	case len(f.config.Topology.Policy.Categories()) == 0:
		return nil
	case s != nil && s.CategoriesErr != nil:
		err = s.CategoriesErr
	case s != nil && s.TagsErr != nil:
		err = s.TagsErr
	case f.health[i].Tags == vcenter.TagsFailed:
		err = errors.New("its tags could not be read")
	default:
		return nil
	}
	text := world.Plain(cfg.Name, err)
	if errors.As(err, new(session.LockoutError)) {
		text = "a login to its tagging API has failed or was not answered, and is not tried again at once so that the account is not locked"
	}
	return []Finding{{
		ID: "VZ117", VCenter: cfg.Name, Object: the(cfg.Name), Text: text, Nodes: f.unknownIn(cfg.Name, topology.ErrUnknown),
	}}
}

// datacenters finds the configured datacenters that are not there.
func (f *facts) datacenters(i int) []Finding {
	snapshot := f.states[i].Snapshot
	if snapshot.Incomplete == nil {
		return nil
	}
	text := world.Plain(snapshot.VCenter, snapshot.Incomplete)
	if visible := snapshot.VisibleDatacenters; len(visible) > 0 {
		text += "; the account sees " + quote.Some(visible, quote.Most)
	}
	return []Finding{{
		ID: "VZ124", VCenter: snapshot.VCenter, Object: "datacenters of the configuration", Text: text, HasAdvice: true,
		Command: cli.Shell("govc", "find", "/", "-type", "d"), Nodes: f.names(func(n *node) bool { return f.lacksDatacenter(n, snapshot.VCenter) }),
	}}
}

// categories finds what is wrong with the tag categories that a vCenter has.
func (f *facts) categories(s *world.Survey) (found []Finding) {
	types := f.taggable()
	for _, c := range s.Categories {
		object := "tag category " + quote.Value(c.Name)
		if c.Multiple {
			found = append(found, Finding{
				ID: "VZ122", VCenter: s.VCenter, Object: object, Text: "an object may have several of its tags",
			})
		}
		if len(c.Types) > 0 && !slices.ContainsFunc(c.Types, func(t string) bool { return slices.Contains(types, t) }) {
			found = append(found, Finding{
				ID: "VZ123", VCenter: s.VCenter, Object: object,
				Text:    "its tags can be attached to " + quote.Some(shown(c.Types), quote.Most) + " only, and none of these is above a machine",
				Command: cli.Shell("govc", "tags.category.update", "-t", "HostSystem", "-t", "ClusterComputeResource", "-t", "Datacenter", c.Name),
			})
		}
	}
	return found
}

func shown(all []string) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = quote.Plain(all[i])
	}
	return names
}

// taggable returns the types of the objects on the paths that the policy looks at.
func (f *facts) taggable() []string {
	types := []string{"Folder", "Datacenter"}
	for _, kind := range f.config.Topology.Policy.TagPaths() {
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

// absent finds the tag categories that are missing, in all vCenters or in some.
func (f *facts) absent() (found []Finding) {
	policy := f.config.Topology.Policy
	nowhere := inventory.InvisibleCategories(f.states)
	for i := range f.surveys {
		policy.Visible = append(policy.Visible, f.surveys[i].Visible...)
	}
	slices.Sort(policy.Visible)
	policy.Visible = slices.Compact(policy.Visible)
	for _, c := range policy.NoCategory(nowhere) {
		found = append(found, Finding{ID: "VZ120", Object: "label " + c.Labels[0], Text: c.Text(), HasAdvice: true, Nodes: f.names(func(n *node) bool { return errors.Is(n.Err, topology.ErrNoCategory) })})
	}
	for _, s := range f.states {
		if s.Snapshot == nil {
			continue
		}
		for _, category := range s.Snapshot.InvisibleCategories {
			if slices.Contains(nowhere, category) {
				continue
			}
			text := "the account sees no such category here, and does elsewhere"
			if slices.Contains(policy.VolumeCategories(), category) && !f.copies.noZones {
				text += "; the CSI driver's topology service starts for no vCenter without it"
			}
			if in := f.survey(s.VCenter); in != nil {
				if near := quote.Nearest(category, in.Visible); near != "" {
					text += "; is " + quote.Value(near) + " meant?"
				}
			}
			found = append(found, Finding{
				ID: "VZ121", VCenter: s.VCenter, Object: "tag category " + quote.Value(category),
				Text:    text,
				Nodes:   f.unknownIn(s.VCenter, topology.ErrNoCategory),
				Command: cli.Shell("govc", "tags.category.create", "-t", "HostSystem", "-t", "ClusterComputeResource", "-t", "Datacenter", category),
			})
		}
	}
	return found
}

// unchecked says which parts of a vCenter could not be read, beside tags.
func (f *facts) unchecked(i int) (found []Finding) {
	s := &f.surveys[i]
	note := func(part string, err error) {
		if err != nil {
			found = append(found, Finding{ID: "VZ125", VCenter: s.VCenter, Object: part, Text: world.Plain(s.VCenter, err)})
		}
	}
	if s.Err != nil {
		note("hosts, clusters and settings", s.Err)
		return found
	}
	note("hosts and clusters", s.ObjectsErr)
	note("the settings of machines", s.MachinesErr)
	return found
}
