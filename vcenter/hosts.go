package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/vcenter/faults"
)

// The properties that tell what hosts belong to. They are read only if the policy
// needs them.
const (
	// clusterGroups are a cluster's DRS groups. The property that they are part of is
	// declared with a type that does not have them, so a vCenter may not take this
	// path: then clusterConfig is read, which is larger.
	clusterGroups = "configurationEx.group"
	clusterConfig = "configurationEx"
	faultDomain   = "config.vsanHostConfig.faultDomainInfo.name"
	hostConnected = "runtime.connectionState"
)

// How a session reads host groups and fault domains: each is for vCenters that refuse
// the one before.
const (
	narrowly int32 = iota // by clusterGroups
	widely                // by clusterConfig
	notAtAll
)

// errWidely ends a watch whose vCenter does not take the path clusterGroups.
var errWidely = fmt.Errorf("%w: the vCenter does not take the property %s, so %s is read instead", errAgain, clusterGroups, clusterConfig)

// errNoProperty is why host groups or fault domains are not known where the vCenter
// takes no property that tells them.
var errNoProperty = errors.New("the vCenter does not have the properties that tell it: it is too old")

// hostFacts says what of hosts is read.
type hostFacts struct {
	// groups are the DRS host groups, domains the vSAN fault domains.
	groups, domains bool
}

func (w *Wanted) hostFacts() hostFacts { return hostFacts{w.HostGroups, w.FaultDomains} }

// properties returns what is read beside what is always read, which is named again: it is
// not documented that specifications for a type and for one that it extends add up.
func (h hostFacts) properties(how int32) []types.PropertySpec {
	var specs []types.PropertySpec
	if h.groups && how != notAtAll {
		path := clusterGroups
		if how == widely {
			path = clusterConfig
		}
		specs = append(specs, types.PropertySpec{Type: "ClusterComputeResource", PathSet: []string{"name", "parent", path}})
	}
	if h.domains && how != notAtAll {
		specs = append(specs, types.PropertySpec{Type: "HostSystem", PathSet: []string{"name", "parent", faultDomain, hostConnected}})
	}
	return specs
}

// more are the properties that the watch reads beside what is always read.
func (w *watch) more() []types.PropertySpec { return w.facts.properties(w.s.hosts.Load()) }

// watchDetails makes the filter over the machines on the list.
func (w *watch) watchDetails(ctx context.Context) error {
	for {
		more := w.more()
		err := w.filter(ctx, w.details, detailSpec(w.list, more))
		if len(more) == 0 || !faults.Is[types.InvalidProperty](err) {
			return err
		}
		klog.FromContext(ctx).Info("The vCenter does not take all properties of host groups and fault domains", "err", faults.Printable{Err: err})
		w.s.hosts.Add(1)
	}
}

// refusesPath reports whether a change says that the vCenter does not take the path
// clusterGroups, as far as that was not known.
func (w *watch) refusesPath(u *types.ObjectUpdate) bool {
	return slices.ContainsFunc(u.MissingSet, func(m types.MissingProperty) bool {
		_, invalid := m.Fault.Fault.(*types.InvalidProperty)
		return invalid && m.Path == clusterGroups
	}) && w.s.hosts.CompareAndSwap(narrowly, widely)
}

// isHostFact reports whether a property tells what hosts belong to. That it cannot be
// read is another thing than that it is not set.
func isHostFact(path string) bool {
	return path == clusterGroups || path == clusterConfig || path == faultDomain
}

// An unreadProperty is one that cannot be read, and why.
type unreadProperty struct{ err error }

// lack takes over which properties of hosts and clusters cannot be read.
func (p properties) lack(missing []types.MissingProperty) {
	for i := range missing {
		path := missing[i].Path
		if !isHostFact(path) {
			continue
		}
		if path == clusterConfig {
			path = clusterGroups
		}
		p[path] = unreadProperty{whyMissing(&missing[i].Fault)}
	}
}

func whyMissing(f *types.LocalizedMethodFault) error {
	if _, ok := f.Fault.(*types.NoPermission); ok {
		return topology.ErrNotPermitted
	}
	if f.LocalizedMessage != "" {
		return faults.AsError(f)
	}
	return fmt.Errorf("the vCenter answers %T", f.Fault)
}

// hostGroup is a DRS host group.
type hostGroup struct {
	name  string
	hosts []types.ManagedObjectReference
}

// hostGroupsOf returns the host groups in the value of clusterGroups or clusterConfig.
func hostGroupsOf(value any) []hostGroup {
	var all []types.BaseClusterGroupInfo
	switch v := value.(type) {
	case types.ArrayOfClusterGroupInfo:
		all = v.ClusterGroupInfo
	case types.ClusterConfigInfoEx:
		all = v.Group
	case *types.ClusterConfigInfoEx:
		all = v.Group
	}
	var groups []hostGroup
	for _, g := range all {
		if g, ok := g.(*types.ClusterHostGroup); ok {
			groups = append(groups, hostGroup{g.Name, g.Host})
		}
	}
	return groups
}

// hosts knows what the hosts of a snapshot belong to.
type hosts struct {
	facts hostFacts
	// refused is why nothing can be read, nil if it can.
	refused error
	// groups are those of each host, by cluster. A snapshot's names are shared.
	groups map[types.ManagedObjectReference]map[types.ManagedObjectReference][]string
}

// hosts returns what the watch makes a snapshot's memberships of.
func (w *watch) hosts() *hosts {
	h := &hosts{facts: w.facts}
	if h.facts != (hostFacts{}) && w.s.hosts.Load() == notAtAll {
		h.refused = errNoProperty
	}
	return h
}

// memberships returns what a host belongs to, nil where that is not read.
func (h *hosts) memberships(t *tree, host types.ManagedObjectReference) (groups, domain *topology.Membership) {
	if host.Type != "HostSystem" {
		return nil, nil
	}
	if h.facts.groups {
		groups = h.groupsOf(t, host)
	}
	if h.facts.domains {
		domain = h.domainOf(t.objects[host])
	}
	return groups, domain
}

// groupsOf returns the groups of the cluster that the host is in now: those of a
// cluster that it has left mean nothing.
func (h *hosts) groupsOf(t *tree, host types.ManagedObjectReference) *topology.Membership {
	cluster, ok := t.parent(host)
	read := t.objects[cluster]
	if !ok || read == nil || cluster.Type != "ClusterComputeResource" {
		return nil
	}
	if h.refused != nil {
		return &topology.Membership{Err: h.refused}
	}
	if unread, ok := read[clusterGroups].(unreadProperty); ok {
		return &topology.Membership{Err: unread.err}
	}
	of, known := h.groups[cluster]
	if !known {
		of = map[types.ManagedObjectReference][]string{}
		groups, _ := read[clusterGroups].([]hostGroup)
		for _, g := range groups {
			for _, ref := range g.hosts {
				of[ref] = append(of[ref], g.name)
			}
		}
		for _, names := range of {
			slices.Sort(names)
		}
		if h.groups == nil {
			h.groups = map[types.ManagedObjectReference]map[types.ManagedObjectReference][]string{}
		}
		h.groups[cluster] = of
	}
	return &topology.Membership{Names: of[host]}
}

// domainOf returns a host's fault domain. Of a host that is not connected the vCenter
// may not have the configuration, so nothing then says that it is in none.
func (h *hosts) domainOf(host properties) *topology.Membership {
	if h.refused != nil {
		return &topology.Membership{Err: h.refused}
	}
	if unread, ok := host[faultDomain].(unreadProperty); ok {
		return &topology.Membership{Err: unread.err}
	}
	if name := host.string(faultDomain); name != "" {
		return &topology.Membership{Names: []string{name}}
	}
	if state, _ := host[hostConnected].(types.HostSystemConnectionState); state != types.HostSystemConnectionStateConnected {
		return &topology.Membership{Err: errNotConnected}
	}
	return &topology.Membership{}
}

var errNotConnected = errors.New("the host is not connected to the vCenter")
