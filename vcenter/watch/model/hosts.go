package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/internal/quote"
	"vzones/topology"
)

// The properties that tell what hosts belong to. They are read only if the policy needs them.
const (
	// ClusterConfig has a cluster's DRS groups. The path to the groups alone is not read: the property is
	// declared with a type that does not have them.
	ClusterConfig = "configurationEx"
	FaultDomain   = "config.vsanHostConfig.faultDomainInfo.name"
	HostConnected = "runtime.connectionState"
)

// HostFacts are what of hosts is read: Groups are the DRS host groups, Domains the vSAN fault domains.
type HostFacts struct{ Groups, Domains bool }

// Properties returns what is read beside what is always read, which is named again: it is
// not documented that specifications for a type and for one that it extends add up.
func (h HostFacts) Properties() []types.PropertySpec {
	var specs []types.PropertySpec
	if h.Groups {
		specs = append(specs, types.PropertySpec{Type: "ClusterComputeResource", PathSet: []string{"name", "parent", ClusterConfig}})
	}
	if h.Domains {
		specs = append(specs, types.PropertySpec{Type: "HostSystem", PathSet: []string{"name", "parent", FaultDomain, HostConnected}})
	}
	return specs
}

// IsHostFact reports whether a property says what hosts belong to. One that cannot be read
// differs from one that is not set.
func IsHostFact(path string) bool { return path == ClusterConfig || path == FaultDomain }

// An unreadProperty is one that cannot be read, and why.
type unreadProperty struct{ err error }

func whyMissing(f *types.LocalizedMethodFault) error {
	if _, ok := f.Fault.(*types.NoPermission); ok {
		return topology.ErrNotPermitted
	}
	if f.LocalizedMessage != "" {
		return errors.New(quote.Text(f.LocalizedMessage))
	}
	return fmt.Errorf("the vCenter answers %T", f.Fault)
}

// hostGroup is a DRS host group.
type hostGroup struct {
	name  string
	hosts []types.ManagedObjectReference
}

// hostGroupsOf returns the host groups in the value of ClusterConfig, which is decoded as a session.ClusterGroups.
func hostGroupsOf(value any) []hostGroup {
	cluster, ok := value.(interface {
		Groups() []types.BaseClusterGroupInfo
	})
	if !ok {
		return nil
	}
	var groups []hostGroup
	for _, g := range cluster.Groups() {
		if g, ok := g.(*types.ClusterHostGroup); ok {
			groups = append(groups, hostGroup{strings.Clone(g.Name[:min(len(g.Name), maxName)]), g.Host})
		}
	}
	return groups
}

// Memberships know what the hosts of a tree belong to.
type Memberships struct {
	// Facts are what is read of hosts.
	Facts HostFacts
	// groups are those of each host, by cluster. A snapshot's names are shared.
	groups map[types.ManagedObjectReference]map[types.ManagedObjectReference][]string
}

// Of returns what a host belongs to, nil where that is not read.
func (h *Memberships) Of(t *Tree, host types.ManagedObjectReference) (groups, domain *topology.Membership) {
	if host.Type != "HostSystem" {
		return nil, nil
	}
	if h.Facts.Groups {
		groups = h.groupsOf(t, host)
	}
	if h.Facts.Domains {
		domain = h.domainOf(t.objects[host])
	}
	return groups, domain
}

// groupsOf returns the groups of the cluster that the host is in now: those of a
// cluster that it has left mean nothing.
func (h *Memberships) groupsOf(t *Tree, host types.ManagedObjectReference) *topology.Membership {
	cluster, ok := t.parent(host)
	read := t.objects[cluster]
	if !ok || read == nil || cluster.Type != "ClusterComputeResource" {
		return nil
	}
	if unread, ok := read[ClusterConfig].(unreadProperty); ok {
		return &topology.Membership{Err: unread.err}
	}
	groupsOf, known := h.groups[cluster]
	if !known {
		groupsOf = map[types.ManagedObjectReference][]string{}
		groups, _ := read[ClusterConfig].([]hostGroup)
		for _, g := range groups {
			for _, ref := range g.hosts {
				groupsOf[ref] = append(groupsOf[ref], g.name)
			}
		}
		for _, names := range groupsOf {
			slices.Sort(names)
		}
		if h.groups == nil {
			h.groups = map[types.ManagedObjectReference]map[types.ManagedObjectReference][]string{}
		}
		h.groups[cluster] = groupsOf
	}
	return &topology.Membership{Names: groupsOf[host]}
}

// domainOf returns a host's fault domain. Of a host that is not connected the vCenter
// may not have the configuration, so nothing then says that it is in none.
func (h *Memberships) domainOf(host properties) *topology.Membership {
	if unread, ok := host[FaultDomain].(unreadProperty); ok {
		return &topology.Membership{Err: unread.err}
	}
	if name := host.string(FaultDomain); name != "" {
		return &topology.Membership{Names: []string{name}}
	}
	if state, _ := host[HostConnected].(types.HostSystemConnectionState); state != types.HostSystemConnectionStateConnected {
		return &topology.Membership{Err: errNotConnected}
	}
	return &topology.Membership{}
}

var errNotConnected = errors.New("the host is not connected to the vCenter")
