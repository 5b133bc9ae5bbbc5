package model

import (
	"errors"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology"
)

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
	if h.Facts.Access == NoHostFacts {
		return &topology.Membership{Err: errTooOld}
	}
	if unread, ok := read[ClusterGroups].(unreadProperty); ok {
		return &topology.Membership{Err: unread.err}
	}
	groupsOf, known := h.groups[cluster]
	if !known {
		groupsOf = map[types.ManagedObjectReference][]string{}
		groups, _ := read[ClusterGroups].([]hostGroup)
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
	if h.Facts.Access == NoHostFacts {
		return &topology.Membership{Err: errTooOld}
	}
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
