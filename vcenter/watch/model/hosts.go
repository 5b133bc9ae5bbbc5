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

// Properties that are read only if a rule needs them.
const (
	// ClusterConfig contains the DRS groups. The path of the groups alone is invalid, because the
	// declared type of the property lacks them.
	ClusterConfig = "configurationEx"
	FaultDomain   = "config.vsanHostConfig.faultDomainInfo.name"
	HostConnected = "runtime.connectionState"
)

// HostFacts select DRS host groups and vSAN fault domains.
type HostFacts struct{ Groups, Domains bool }

// Properties returns the additional properties. It repeats name and parent: it is undocumented
// whether specifications for a type and its base type add up.
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

// IsHostFact reports whether a property must not count as unset while it is unreadable.
func IsHostFact(path string) bool { return path == ClusterConfig || path == FaultDomain }

type unreadProperty struct{ err error }

func whyMissing(f *types.LocalizedMethodFault) error {
	if _, ok := f.Fault.(*types.NoPermission); ok {
		return topology.ErrNotPermitted
	}
	if f.LocalizedMessage != "" {
		return errors.New(quote.Text(f.LocalizedMessage))
	}
	return fmt.Errorf("the vCenter returned %T", f.Fault)
}

type hostGroup struct {
	name  string
	hosts []types.ManagedObjectReference
}

// hostGroupsOf expects a session.ClusterGroups.
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

// Memberships look up the groups and fault domains of hosts for one snapshot.
type Memberships struct {
	Facts  HostFacts
	groups map[types.ManagedObjectReference]map[types.ManagedObjectReference][]string
}

// Of returns a host's groups and fault domain, nil if they are not read.
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

// groupsOf ignores the groups of a cluster that the host has left.
func (h *Memberships) groupsOf(t *Tree, host types.ManagedObjectReference) *topology.Membership {
	cluster, ok := t.parentRef(host)
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

// domainOf reports an unset fault domain only for a connected host: otherwise the vCenter may lack
// the configuration.
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
