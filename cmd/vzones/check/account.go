package check

import (
	"errors"
	"slices"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

// accountCheck reports which parts of one vCenter its account cannot read.
type accountCheck struct {
	*vcenterFacts
	policy *topology.Policy
	nodes  nodeList
	// hosts are the hosts of all vCenters.
	hosts []world.HostPlace
}

// mayMiss reports whether the unread tags of an object may decide the place of a Node or a host below it.
func (c *accountCheck) mayMiss(o *topology.Object) bool {
	isBelow := func(p topology.Path) bool {
		return slices.ContainsFunc(p.Objects, func(above *topology.Object) bool { return above.Ref.ID == o.Ref.ID })
	}
	isUnknownHost := func(p world.HostPlace) bool {
		isUnknown := func(u topology.Undecided) bool { return errors.Is(u.Err, topology.ErrUnknown) }
		return slices.ContainsFunc(p.Placement.Undecided, isUnknown) && p.Host.Ref.VCenter == o.Ref.VCenter && isBelow(p.Up)
	}
	isUnknownNode := func(n *node) bool {
		return errors.Is(n.Err, topology.ErrUnknown) && n.Place.VCenter == o.Ref.VCenter &&
			n.Place.VM != nil && slices.ContainsFunc(n.Place.VM.Paths, isBelow)
	}
	return slices.ContainsFunc(c.hosts, isUnknownHost) || slices.ContainsFunc(c.nodes, isUnknownNode)
}

// isUnread reports whether the account may not read the tags of an object, or the tagging service reports
// that the object does not exist.
func isUnread(o *topology.Object) bool {
	return errors.Is(o.TagsErr, topology.ErrNotPermitted) || errors.Is(o.TagsErr, tags.ErrDeleted)
}

// unread reports hosts, and objects above them, whose tags cannot be read. It skips vSphere's own folders,
// which usual roles do not include, unless a place may depend on their tags.
func (c *accountCheck) unread() (found []Finding) {
	s := c.survey
	outside := c.outside()
	for _, o := range s.Objects {
		up := o.Up()
		if !isUnread(o.Object) || outside[o.Ref.ID] || topology.IsSystemFolder(&up, 0) && !c.mayMiss(o.Object) {
			continue
		}
		finding := Finding{ID: "VZ119", VCenter: s.VCenter, Object: nameOf(o.Object), Text: o.TagsErr.Error()}
		if errors.Is(o.TagsErr, tags.ErrDeleted) {
			finding.Advice = "Run the command again after a minute. If the finding persists, check the vCenter's services."
		} else if s.About.User != "" {
			finding.Command = cli.Shell("govc", "permissions.set", "-principal", s.About.User, "-role", "ReadOnly", "-propagate=false", o.Path)
		}
		found = append(found, finding)
	}
	return found
}

// tagging reports that no tags of the vCenter can be read.
func (c *accountCheck) tagging() []Finding {
	name := c.config.Name
	err := c.tagsErr(c.policy)
	if err == nil {
		return nil
	}
	text := world.Plain(name, err)
	if errors.As(err, new(session.LockoutError)) {
		text = "a login to its tagging API failed or timed out, and is not retried at once so that the account is not locked"
	}
	return []Finding{{
		ID: "VZ117", VCenter: name, Object: the(name), Text: text, Nodes: c.nodes.unknownIn(name, topology.ErrUnknown),
	}}
}

// datacenters reports configured datacenters that the account does not see.
func (c *accountCheck) datacenters() []Finding {
	snapshot := c.state.Snapshot
	if snapshot.Incomplete == nil {
		return nil
	}
	text := world.Plain(snapshot.VCenter, snapshot.Incomplete)
	if visible := snapshot.VisibleDatacenters; len(visible) > 0 {
		text += "; the account sees " + quote.Some(visible, quote.Most)
	}
	return []Finding{{
		ID: "VZ124", VCenter: snapshot.VCenter, Object: "configured datacenters", Text: text, HasAdvice: true,
		Command: cli.Shell("govc", "find", "/", "-type", "d"), Nodes: c.nodes.names(c.lacksDatacenter),
	}}
}

// unchecked reports the parts of a vCenter, other than tags, that could not be read.
func (c *accountCheck) unchecked() (found []Finding) {
	s := c.survey
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
	note("the settings of VMs", s.VMsErr)
	return found
}
