package check

import (
	"errors"
	"fmt"
	"slices"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/survey"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// privileges finds the privileges that the account lacks where it needs them. On folders that vSphere
// makes usual roles give none, so that they are found where a tag on them may be missed.
func (f *facts) privileges(i int, places []hostPlace) (found []finding.Finding) {
	s, outside := &f.surveys[i], f.outside(i)
	for _, d := range s.Denied {
		if outside[d.Object.Ref.ID] || d.System && !f.mayMiss(d.Object, places) {
			continue
		}
		kind := finding.PrivilegeWanted
		if d.Needed {
			kind = finding.PrivilegeMissing
		}
		found = append(found, finding.Finding{
			Kind: kind, VCenter: s.VCenter, Object: named(d.Object),
			Text:    fmt.Sprintf("account %s lacks the privilege %s: %s", quote.Plain(s.About.User), d.Privilege, d.For),
			Command: line("govc", "permissions.set", "-principal", s.About.User, "-role", "ReadOnly", "-propagate=false", d.Object.Path),
		})
	}
	return found
}

// mayMiss reports whether the place of a Node or a host below an object is not known.
func (f *facts) mayMiss(o *topology.Object, places []hostPlace) bool {
	below := func(p topology.Path) bool {
		return slices.ContainsFunc(p.Objects, func(above *topology.Object) bool { return above.Ref.ID == o.Ref.ID })
	}
	return slices.ContainsFunc(places, func(p hostPlace) bool {
		return errors.Is(p.err, topology.ErrUnknown) && p.host.Ref.VCenter == o.Ref.VCenter && below(p.host.Up())
	}) || slices.ContainsFunc(f.nodes, func(n node) bool {
		return errors.Is(n.Err, topology.ErrUnknown) && n.vcenterName() == o.Ref.VCenter && n.Place.Machine != nil && slices.ContainsFunc(n.Place.Machine.Paths, below)
	})
}

// isDenied reports whether the account is known to lack System.Read on an object.
func (f *facts) isDenied(o *topology.Object) bool {
	s := f.survey(o.Ref.VCenter)
	return s != nil && slices.ContainsFunc(s.Denied, func(d survey.Denied) bool { return d.Privilege == "System.Read" && d.Object.Ref.ID == o.Ref.ID })
}

// isUnread reports whether the tags of a host, or of what is above hosts, may not be read though
// nothing is known of a missing privilege. Folders that vSphere makes hardly anybody tags.
func (f *facts) isUnread(o *survey.Object) bool {
	up := o.Up()
	return errors.Is(o.TagsErr, topology.ErrNotPermitted) && !topology.IsSystemFolder(&up, 0) && !f.isDenied(o.Object)
}

// unread finds these objects.
func (f *facts) unread(i int) (found []finding.Finding) {
	s, outside := &f.surveys[i], f.outside(i)
	for _, o := range s.Objects {
		if f.isUnread(o) && !outside[o.Ref.ID] {
			found = append(found, finding.Finding{
				Kind: finding.TagsUnreadable, VCenter: s.VCenter, Object: named(o.Object), Text: "the account may not read its tags",
				Command: line("govc", "permissions.set", "-principal", s.About.User, "-role", "ReadOnly", "-propagate=false", o.Path),
			})
		}
	}
	return found
}

// tagging finds out whether tags can be read.
func (f *facts) tagging(i int) (found []finding.Finding) {
	cfg, s := &f.config.VCenters[i], f.survey(f.states[i].VCenter)
	var err error
	switch {
	case len(f.config.Topology.Policy.Categories()) == 0:
		return nil
	case s != nil && s.CategoriesErr != nil:
		err = s.CategoriesErr
	case s != nil && s.TaggedErr != nil:
		err = s.TaggedErr
	case f.health[i].Tags == vcenter.TagsFailed:
		err = errors.New("its tags could not be read")
	default:
		return nil
	}
	text := plain(cfg.Name, err)
	if errors.As(err, new(session.LockoutError)) {
		text = "a login to its tagging API has failed or was not answered, and is not tried again at once so that the account is not locked"
	}
	return []finding.Finding{{
		Kind: finding.TaggingFails, VCenter: cfg.Name, Object: the(cfg.Name), Text: text,
	}}
}

// datacenters finds the configured datacenters that are not there.
func (f *facts) datacenters(i int) []finding.Finding {
	snapshot := f.states[i].Snapshot
	if snapshot.Incomplete == nil {
		return nil
	}
	text := plain(snapshot.VCenter, snapshot.Incomplete)
	if visible := snapshot.VisibleDatacenters; len(visible) > 0 {
		text += "; the account sees " + quote.Some(visible, quote.Most)
	}
	return []finding.Finding{{
		Kind: finding.DatacenterUnmatched, VCenter: snapshot.VCenter, Object: "datacenters of the configuration", Text: text,
		Command: line("govc", "find", "/", "-type", "d"),
	}}
}

// categories finds what is wrong with the tag categories that a vCenter has.
func (f *facts) categories(s *survey.Survey) (found []finding.Finding) {
	types := f.taggable()
	for _, c := range s.Categories {
		object := "tag category " + quote.Value(c.Name)
		if c.Multiple {
			found = append(found, finding.Finding{
				Kind: finding.CategoryMultiple, VCenter: s.VCenter, Object: object, Text: "an object may have several of its tags",
			})
		}
		if len(c.Types) > 0 && !slices.ContainsFunc(c.Types, func(t string) bool { return slices.Contains(types, t) }) {
			found = append(found, finding.Finding{
				Kind: finding.CategoryUnfit, VCenter: s.VCenter, Object: object,
				Text:    "its tags can be attached to " + quote.Some(shown(c.Types), quote.Most) + " only, and none of these is above a machine",
				Command: line("govc", "tags.category.update", "-t", "HostSystem", "-t", "ClusterComputeResource", "-t", "Datacenter", c.Name),
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
func (f *facts) absent() (found []finding.Finding) {
	policy := &f.config.Topology.Policy
	nowhere := inventory.InvisibleCategories(f.states)
	for _, c := range policy.NoCategory(nowhere) {
		found = append(found, finding.Finding{Kind: finding.CategoryNowhere, Object: "label " + c.Labels[0], Text: c.Text()})
	}
	for _, s := range f.states {
		if s.Snapshot == nil {
			continue
		}
		for _, category := range s.Snapshot.InvisibleCategories {
			if slices.Contains(nowhere, category) {
				continue
			}
			found = append(found, finding.Finding{
				Kind: finding.CategoryMissing, VCenter: s.VCenter, Object: "tag category " + quote.Value(category),
				Text:    "the account sees no such category here",
				Command: line("govc", "tags.category.create", "-t", "HostSystem", "-t", "ClusterComputeResource", "-t", "Datacenter", category),
			})
		}
	}
	return found
}

// unchecked says which parts of a vCenter could not be read, beside tags.
func (f *facts) unchecked(i int) (found []finding.Finding) {
	s := &f.surveys[i]
	note := func(part string, err error) {
		if err != nil {
			found = append(found, finding.Finding{Kind: finding.NotChecked, VCenter: s.VCenter, Object: part, Text: plain(s.VCenter, err)})
		}
	}
	if s.Err != nil {
		note("hosts, clusters and settings", s.Err)
		return found
	}
	note("the clock", s.SkewErr)
	note("hosts and clusters", s.ObjectsErr)
	note("the settings of machines", s.MachinesErr)
	note("privileges", s.DeniedErr)
	for _, o := range s.Objects {
		if c := s.Clusters[o.Ref.ID]; c != nil {
			note("the DRS rules of "+named(o.Object), c.Err)
		}
	}
	return found
}
