package topology

import (
	"fmt"
	"strings"

	"vzones/internal/quote"
)

func (r *resolution) decideByInventory(rule *Rule) {
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
