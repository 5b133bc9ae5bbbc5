package nodes

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/provider/identity"
	"vzones/provider/placement"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

// withVCenter returns a context whose logger names in each line the vCenter of a Node's machine,
// unless that is not known.
func withVCenter(ctx context.Context, vcenter string) context.Context {
	if vcenter == "" {
		return ctx
	}
	return klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vCenter", quote.Plain(vcenter)))
}

// lastVCenter returns the vCenter that has a Node's machine, or else the one that had it by the
// record on the Node. It is empty if neither is known. It serves the log and decides nothing.
func lastVCenter(states []inventory.State, n *v1.Node) string {
	id, err := identity.Of(n)
	if err != nil {
		return ""
	}
	if m, err := inventory.Find(states, id); err == nil {
		return m.Ref.VCenter
	}
	return id.Recorded.VCenter
}

// vcenterAt returns the vCenter of a place, as Events and conditions name it, empty if there is none.
func vcenterAt(place *placement.Place) string {
	if place.Machine == nil {
		return place.VCenter
	}
	return cmp.Or(place.VCenter, place.Machine.Ref.VCenter)
}
