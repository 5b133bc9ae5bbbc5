package vcenter

import "github.com/vmware/govmomi/vim25/types"

// unread takes what is missing in a change of an object for values that are unset:
// they cannot be read any more.
func unread(u *types.ObjectUpdate) {
	for _, m := range u.MissingSet {
		if !isHostFact(m.Path) { // of which it matters why
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: m.Path, Op: types.PropertyChangeOpRemove})
		}
	}
}
