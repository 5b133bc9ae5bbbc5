package topology

import (
	"fmt"
	"strings"

	"vzones/internal/quote"
)

// decideByInventory decides a rule by the name of what the machine is in.
func (r *resolution) decideByInventory(rule *Rule) {
	if rule.HostGroup != "" || rule.Inventory == InventoryFaultDomain {
		r.decideByMembership(rule)
		return
	}
	by, absent, unknown := r.find(rule.Inventory)
	switch {
	case unknown != "":
		r.fail(rule, Errorf(ErrUnknown, "label %s: %s", rule.Label, unknown))
		return
	case by == nil && rule.Required:
		r.fail(rule, Errorf(ErrMissing, "label %s: %s: take the label from a tag%s", rule.Label, absent, r.searchedPath(rule.Inventory)))
		return
	case by == nil:
		return
	}
	name := by.Ref.VCenter
	if rule.Inventory != InventoryVCenter {
		if by.Name == "" {
			r.fail(rule, Errorf(ErrUnknown, "label %s: the name of %s cannot be read: give the account the role Read-only there", rule.Label, by))
			return
		}
		name = Unescaped(by.Name)
	}
	if reason := rule.whyInvalid(name); reason != "" {
		r.conflict(ConflictInvalidValue, rule.Label, func() string {
			where, what := by.String(), "Rename it"
			if rule.Inventory == InventoryVCenter {
				where, what = "the vCenter's entry in the configuration", "Rename the entry"
			}
			return fmt.Sprintf("The name %s of %s cannot be the value of label %s: %s. %s, or take the label from a tag.",
				quote.Value(name), where, rule.Label, reason, what)
		}, by)
		r.fail(rule, Errorf(ErrInvalid, "the name %s of %s cannot be the value of label %s: %s: rename it, or take the label from a tag",
			quote.Value(name), by, rule.Label, reason))
		return
	}
	r.placement.Decisions = append(r.placement.Decisions, Decision{
		Label: rule.Label, Value: name, Inventory: rule.Inventory, By: by,
	})
}

// searchedPath lists the objects among which something was looked for and not found.
func (r *resolution) searchedPath(what Inventory) string {
	kind := ComputePath
	switch what {
	case InventoryPool:
		kind = PoolPath
	case InventoryFolder:
		kind = FolderPath
	}
	if p := r.path(kind); len(p.Objects) > 0 {
		return "; looked at " + firstOf(p.Objects, mostLookedAt)
	}
	return ""
}

// escapes are what vSphere writes for the three characters that have a meaning in
// an inventory path.
var escapes = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")

// Unescaped returns a name as vSphere's user interface shows it.
func Unescaped(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	return escapes.Replace(name)
}

// find returns what of the inventory the machine is in. Without an object, either
// absent says what that means, or unknown why it cannot be said.
func (r *resolution) find(what Inventory) (by *Object, absent, unknown string) {
	switch what {
	case InventoryVCenter:
		for i := range r.paths {
			if above := r.paths[i].Objects; len(above) > 0 {
				return above[len(above)-1], "", ""
			}
		}
		return nil, "", "nothing above the machine can be read: give the account the role Read-only there"
	case InventoryDatacenter:
		return r.findAbove(typeDatacenter, "", "the machine is in no datacenter")
	case InventoryCluster:
		return r.findAbove(typeCluster, typeStandalone, "the machine is in no cluster but on a standalone host")
	case InventoryHost:
		if p := r.path(ComputePath); len(p.Objects) > 0 && p.Objects[0].Ref.Type == typeHost {
			return p.Objects[0], "", ""
		}
		return nil, "", "the machine's host cannot be read: give the account the role Read-only there"
	case InventoryPool:
		return r.findPool()
	case InventoryFolder:
		return r.findFolder()
	}
	return nil, "", fmt.Sprintf("%q is no part of the inventory", string(what))
}

// findAbove returns the nearest object of a type, on whatever path can be read
// that far. An object of the type without ends the search.
func (r *resolution) findAbove(kind, without, absent string) (*Object, string, string) {
	unknown := "nothing above the machine can be read: give the account the role Read-only there"
	for i := range r.paths {
		p := &r.paths[i]
		if p.Kind == FolderPath && kind == typeCluster {
			continue // which passes by the cluster
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

// findPool returns the machine's resource pool. The one that
// vSphere makes for each cluster shows in what is above it.
func (r *resolution) findPool() (*Object, string, string) {
	p := r.path(PoolPath)
	if len(p.Objects) == 0 || !isPool(p.Objects[0]) {
		return nil, "", "the machine's resource pool cannot be read: give the account the role Read-only there"
	}
	if len(p.Objects) == 1 {
		return nil, "", fmt.Sprintf("what is above %s cannot be read: %v", p.Objects[0], p.Broken)
	}
	if !isPool(p.Objects[1]) {
		return nil, "the machine is in no resource pool besides the one of its cluster or host", ""
	}
	return p.Objects[0], "", ""
}

func isPool(o *Object) bool { return o.Ref.Type == typePool || o.Ref.Type == typeVApp }

// findFolder returns the machine's VM folder. The one that vSphere makes for
// each datacenter is right below it.
func (r *resolution) findFolder() (*Object, string, string) {
	p := r.path(FolderPath)
	if len(p.Objects) < 2 {
		return nil, "", "the machine's folder cannot be read: give the account the role Read-only there"
	}
	if p.Objects[1].Ref.Type != typeFolder {
		return nil, "the machine is in a vApp, and so in no VM folder", ""
	}
	if len(p.Objects) == 2 {
		return nil, "", fmt.Sprintf("what is above %s cannot be read: %v", p.Objects[1], p.Broken)
	}
	if p.Objects[2].Ref.Type == typeDatacenter {
		return nil, "the machine is in no VM folder besides the one of its datacenter", ""
	}
	return p.Objects[1], "", ""
}
