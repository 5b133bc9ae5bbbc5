package fleet

import (
	"net/http"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// FaultListing makes a ModifyListView fail as a whole if it adds an object that is invisible to
// the account or does not exist. Otherwise such objects are returned as unresolved.
func (v *VCenter) FaultListing(fault types.BaseMethodFault) {
	v.set(func(c *conditions) { c.listFault = fault })
}

// RejectListing excludes an object from all list views, although it is visible.
func (v *VCenter) RejectListing(object string) error {
	ref, err := v.Reference(object)
	if err == nil {
		v.set(func(c *conditions) { c.unlistable = withEntry(c.unlistable, ref, true) })
	}
	return err
}

// modifyList handles a ModifyListView, because the simulator would add nonexistent objects.
func (v *VCenter) modifyList(r *http.Request, body []byte) *response {
	m, err := decode(body)
	if err != nil {
		return v.simulated(r, body)
	}
	req, ok := m.Body.(*types.ModifyListView)
	if !ok {
		return v.simulated(r, body)
	}
	c := v.currentConditions()
	rejected := slices.DeleteFunc(slices.Clone(req.Add), func(ref types.ManagedObjectReference) bool {
		return !c.unlistable[ref] && v.registry().Get(ref) != nil
	})
	if len(rejected) == 0 {
		return v.simulated(r, body)
	}
	if c.listFault != nil {
		return v.simulated(r, encode(operationListing, &methods.ModifyListViewBody{Req: req}))
	}
	req.Add = slices.DeleteFunc(req.Add, func(ref types.ManagedObjectReference) bool { return slices.Contains(rejected, ref) })
	var answer methods.ModifyListViewBody
	return amend(v.simulated(r, encode("", &methods.ModifyListViewBody{Req: req})), &answer, func() bool {
		if answer.Res == nil {
			return false
		}
		answer.Res.Returnval = append(answer.Res.Returnval, rejected...)
		return true
	})
}
