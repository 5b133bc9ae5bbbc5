package scenarios

import (
	"context"
	"reflect"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/test/fleet"
)

// oddityCommands make a vCenter behave as real ones sometimes do.
func oddityCommands() []command {
	return []command{
		{"vcenter VCENTER delay-method METHOD DURATION", "lets requests of one kind, as `requests` counts them, take that much longer", func(a *arguments) action {
			names, method, d := a.vcenters(), a.word("METHOD"), a.duration()
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.DelayMethod(method, d); return nil })
		}},
		{"vcenter VCENTER delay-first-page DURATION", "lets the first page of each watch take that much longer, as that of a large inventory does", func(a *arguments) action {
			names, d := a.vcenters(), a.duration()
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.DelayFirstPage(d); return nil })
		}},
		{"vcenter VCENTER answer METHOD ODDLY", "lets requests of one kind answer HTTP 200 with a SOAP envelope that is `empty`, or with `garbage`", func(a *arguments) action {
			names, method, how := a.vcenters(), a.word("METHOD"), a.word("ODDLY")
			if how != fleet.OddEmpty && how != fleet.OddGarbage {
				a.fail("ODDLY is %s or %s, not %q", fleet.OddEmpty, fleet.OddGarbage, how)
			}
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { return v.AnswerOddly(method, how) })
		}},
		{"vcenter VCENTER listing-faults FAULT", "lets a ModifyListView fail as a whole, with a fault such as `NoPermission`, where it adds an object that the list cannot have; otherwise that comes back as unresolved", listingFault},
		{"vcenter VCENTER refuse-listing OBJECT", "lets no list view have an object although it can be seen", onObject(1, func(v *fleet.VCenter, w []string) error { return v.RefuseListing(w[0]) })},
		{"vcenter VCENTER limit-pages N", "lets an answer to RetrievePropertiesEx have at most N objects, whatever the client asks for", func(a *arguments) action {
			names, n := a.vcenters(), a.number("N")
			return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.LimitPages(int32(n)); return nil })
		}},
		{"vcenter VCENTER forget-objects", "lets it forget the views and collectors of its sessions, which stay open: ManagedObjectNotFound", permanent((*fleet.VCenter).ForgetObjects)},
		{"vcenter VCENTER blind-sessions", "lets its open sessions read no property: HTTP 200, and NotAuthenticated in the place of each", permanent((*fleet.VCenter).Blind)},
		{"vcenter VCENTER end-sessions-as-gone", "is `forget-objects` and `end-sessions` in one", func(a *arguments) action {
			return onVCenters(a.vcenters(), func(w *world, v *fleet.VCenter) error {
				v.ForgetObjects()
				v.EndSessions()
				delete(w.orphans, v.Name())
				return nil
			})
		}},
	}
}

// permanent is a command without arguments that recover does not undo.
func permanent(do func(*fleet.VCenter)) func(*arguments) action {
	return func(a *arguments) action {
		names := a.vcenters()
		return func(_ context.Context, w *world) error {
			for _, name := range names {
				do(w.stack.Fleet.VCenter(name))
			}
			return nil
		}
	}
}

func listingFault(a *arguments) action {
	names, name := a.vcenters(), a.word("FAULT")
	fault := faultNamed(name)
	if fault == nil {
		a.fail("vSphere has no fault %q", name)
	}
	return onVCenters(names, func(_ *world, v *fleet.VCenter) error { v.FaultListing(fault); return nil })
}

// faultNamed makes a fault of a type, nil if there is no such type.
func faultNamed(name string) types.BaseMethodFault {
	if t, ok := types.TypeFunc()(name); ok && t.Kind() == reflect.Struct {
		fault, _ := reflect.New(t).Interface().(types.BaseMethodFault)
		return fault
	}
	return nil
}
