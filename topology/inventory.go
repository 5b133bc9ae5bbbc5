package topology

import (
	"errors"
	"fmt"
	"strings"

	"vzones/internal/quote"
)

func (r *resolution) decideByInventory(rule *Rule) {
	if rule.HostGroup != "" || rule.Inventory == InventoryFaultDomain {
		r.decideByMembership(rule)
		return
	}
	object, absent, unknown := r.find(rule.Inventory)
	switch {
	case unknown != "":
		r.fail(rule, Errorf(ErrUnknown, "label %s: %s", rule.Label, unknown))
		return
	case object == nil && rule.Required:
		r.fail(rule, Errorf(ErrMissing, "label %s: %s: take the label from a tag%s", rule.Label, absent, r.searchedPath(rule.Inventory)))
		return
	case object == nil:
		return
	}
	name := object.Ref.VCenter
	if rule.Inventory != InventoryVCenter {
		if object.Name == "" {
			r.fail(rule, Errorf(ErrUnknown, "label %s: the name of %s cannot be read: give the account the role Read-only there", rule.Label, object))
			return
		}
		name = Unescaped(object.Name)
	}
	if reason := rule.whyInvalid(name); reason != "" {
		r.conflict(ConflictInvalidValue, rule.Label, func() string {
			where := object.String()
			action := "Rename it"
			if rule.Inventory == InventoryVCenter {
				where = "the vCenter's entry in the configuration"
				action = "Rename the entry"
			}
			return fmt.Sprintf("The name %s of %s cannot be the value of label %s: %s. %s, or take the label from a tag.",
				quote.Value(name), where, rule.Label, reason, action)
		}, object)
		r.fail(rule, Errorf(ErrInvalid, "the name %s of %s cannot be the value of label %s: %s: rename it, or take the label from a tag",
			quote.Value(name), object, rule.Label, reason))
		return
	}
	r.placement.Decisions = append(r.placement.Decisions, Decision{
		Label: rule.Label, Value: name, Inventory: rule.Inventory, By: object,
	})
}

func (a ancestors) searchedPath(inventory Inventory) string {
	kind := ComputePath
	switch inventory {
	case InventoryPool:
		kind = PoolPath
	case InventoryFolder:
		kind = FolderPath
	}
	if p := a.path(kind); len(p.Objects) > 0 {
		return "; looked at " + firstOf(p.Objects, maxSearchedObjects)
	}
	return ""
}

var escapes = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")

// Unescaped returns an inventory name without vSphere's escape sequences.
func Unescaped(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	return escapes.Replace(name)
}

func (a ancestors) find(inventory Inventory) (object *Object, absent, unknown string) {
	switch inventory {
	case InventoryVCenter:
		for i := range a {
			if above := a[i].Objects; len(above) > 0 {
				return above[len(above)-1], "", ""
			}
		}
		return nil, "", "nothing above the VM can be read: give the account the role Read-only there"
	case InventoryDatacenter:
		return a.findAbove(typeDatacenter, "", "the VM is in no datacenter")
	case InventoryCluster:
		return a.findAbove(typeCluster, typeStandalone, "the VM is not in a cluster but on a standalone host")
	case InventoryHost:
		if p := a.path(ComputePath); len(p.Objects) > 0 && p.Objects[0].Ref.Type == typeHost {
			return p.Objects[0], "", ""
		}
		return nil, "", "the VM's host cannot be read: give the account the role Read-only there"
	case InventoryPool:
		return a.findPool()
	case InventoryFolder:
		return a.findFolder()
	}
	return nil, "", fmt.Sprintf("%q is not an inventory source", string(inventory))
}

// findAbove searches the first path that can be read far enough. An object of type without ends the
// search.
func (a ancestors) findAbove(kind, without, absent string) (*Object, string, string) {
	unknown := "nothing above the VM can be read: give the account the role Read-only there"
	for i := range a {
		p := &a[i]
		if p.Kind == FolderPath && kind == typeCluster {
			// The folder path does not contain the cluster.
			continue
		}
		for _, o := range p.Objects {
			switch o.Ref.Type {
			case kind:
				return o, "", ""
			case without:
				return nil, absent, ""
			}
		}
		if p.Broken == nil {
			return nil, absent, ""
		}
		unknown = fmt.Sprintf("the %s path could not be read that far: %v", p.Kind, p.Broken)
	}
	return nil, "", unknown
}

// findPool ignores the default pool, which has no pool above it.
func (a ancestors) findPool() (*Object, string, string) {
	p := a.path(PoolPath)
	if len(p.Objects) == 0 || !isPool(p.Objects[0]) {
		return nil, "", "the VM's resource pool cannot be read: give the account the role Read-only there"
	}
	if len(p.Objects) == 1 {
		return nil, "", fmt.Sprintf("the parent of %s cannot be read: %v", p.Objects[0], p.Broken)
	}
	if !isPool(p.Objects[1]) {
		return nil, "the VM is only in the default resource pool of its cluster or host", ""
	}
	return p.Objects[0], "", ""
}

func isPool(o *Object) bool { return o.Ref.Type == typePool || o.Ref.Type == typeVApp }

// findFolder ignores the default folder, the one right below the datacenter.
func (a ancestors) findFolder() (*Object, string, string) {
	p := a.path(FolderPath)
	if len(p.Objects) < 2 {
		return nil, "", "the VM's folder cannot be read: give the account the role Read-only there"
	}
	if p.Objects[1].Ref.Type != typeFolder {
		return nil, "the VM is in a vApp, and so in no VM folder", ""
	}
	if len(p.Objects) == 2 {
		return nil, "", fmt.Sprintf("the parent of %s cannot be read: %v", p.Objects[1], p.Broken)
	}
	if p.Objects[2].Ref.Type == typeDatacenter {
		return nil, "the VM is only in the default VM folder of its datacenter", ""
	}
	return p.Objects[1], "", ""
}

func (r *resolution) decideByMembership(rule *Rule) {
	host, cluster, absent, unknown := r.hostAndCluster()
	var names []string
	var err error
	if host != nil {
		names, err = memberships(rule, host, cluster)
	}
	switch {
	case unknown != "":
		r.fail(rule, Errorf(ErrUnknown, "label %s: %s", rule.Label, unknown))
	case err != nil:
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, err))
	case len(names) == 0 && rule.Required:
		if host != nil {
			absent = notInGroup(rule, host)
		}
		r.fail(rule, Errorf(ErrMissing, "label %s: %s", rule.Label, absent))
	case len(names) == 0:
	case len(names) > 1:
		r.conflict(ConflictTwoGroups, rule.Label, func() string {
			return fmt.Sprintf("Of the DRS host groups that match %q, %s is in %d: %s. Label %s takes one: remove the host from the others, or narrow the pattern.",
				rule.HostGroup, host, len(names), quoted(names), rule.Label)
		}, host)
		r.fail(rule, Errorf(ErrAmbiguous, "%s is in %d DRS host groups that match %q (%s), and label %s takes one: remove the host from the others",
			host, len(names), rule.HostGroup, quoted(names), rule.Label))
	default:
		r.decideByGroup(rule, names[0], cluster)
	}
}

func (r *resolution) decideByGroup(rule *Rule, name string, cluster *Object) {
	if reason := rule.whyInvalid(name); reason != "" {
		r.conflict(ConflictInvalidValue, rule.Label, func() string {
			return fmt.Sprintf("The name %s of a %s of %s cannot be the value of label %s: %s. Rename it, or take the label from a tag.",
				quote.Value(name), rule.groupKind(), cluster, rule.Label, reason)
		}, cluster)
		r.fail(rule, Errorf(ErrInvalid, "the name %s of a %s of %s cannot be the value of label %s: %s: rename it",
			quote.Value(name), rule.groupKind(), cluster, rule.Label, reason))
		return
	}
	r.placement.Decisions = append(r.placement.Decisions, Decision{
		Label: rule.Label, Value: name, Inventory: rule.Inventory, HostGroup: rule.HostGroup, By: cluster,
	})
}

func (r *Rule) groupKind() string {
	if r.HostGroup != "" {
		return "DRS host group"
	}
	return "vSAN fault domain"
}

func (a ancestors) hostAndCluster() (host, cluster *Object, absent, unknown string) {
	p := a.path(ComputePath)
	if len(p.Objects) == 0 || p.Objects[0].Ref.Type != typeHost {
		return nil, nil, "", "the VM's host cannot be read"
	}
	host = p.Objects[0]
	switch {
	case len(p.Objects) == 1:
		return nil, nil, "", fmt.Sprintf("the cluster of %s cannot be read, retrying: %v", host, p.Broken)
	case p.Objects[1].Ref.Type == typeStandalone:
		return nil, nil, fmt.Sprintf("the VM is not in a cluster but on the standalone %s: take the label from a tag", host), ""
	case p.Objects[1].Ref.Type != typeCluster:
		return nil, nil, "", fmt.Sprintf("the parent of %s is not a cluster: %s", host, p.Objects[1])
	}
	return host, p.Objects[1], "", ""
}

// memberships returns ErrUnknown, and also ErrNotRead before the first read.
func memberships(rule *Rule, host, cluster *Object) ([]string, error) {
	membership := host.FaultDomain
	subject := "the vSAN fault domain of " + host.String()
	holder := "the host"
	if rule.HostGroup != "" {
		membership = host.HostGroups
		subject = "the DRS host groups of " + cluster.String()
		holder = "the cluster"
	}
	switch {
	case membership == nil:
		return nil, Errorf(Kinds{ErrUnknown, ErrNotRead}, "not yet read, will be read next: %s", subject)
	case errors.Is(membership.Err, ErrNotPermitted):
		return nil, Errorf(ErrUnknown, "%s cannot be read: the account lacks the privilege System.Read on %s: give it the role Read-only there", subject, holder)
	case membership.Err != nil:
		return nil, Errorf(ErrUnknown, "%s cannot be read, retrying: %v", subject, membership.Err)
	}
	var names []string
	for _, name := range membership.Names {
		if rule.HostGroup == "" || fits(rule.HostGroup, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func notInGroup(rule *Rule, host *Object) string {
	if rule.HostGroup == "" {
		return fmt.Sprintf("%s is in no vSAN fault domain: add it to one", host)
	}
	groups := "it is in none"
	if len(host.HostGroups.Names) > 0 {
		groups = "it is in " + quoted(host.HostGroups.Names)
	}
	return fmt.Sprintf("%s is in no DRS host group that matches %q (%s): add it to one", host, rule.HostGroup, groups)
}

func fits(pattern, name string) bool {
	first, rest, several := strings.Cut(pattern, "*")
	if !several {
		return name == pattern
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, last)
}
