package watch

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/topology/quote"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// Slots bound the searches in flight in one vCenter, so that other calls find room.
type Slots chan struct{}

// NewSlots returns slots for four searches.
func NewSlots() Slots { return make(Slots, 4) }

// InSlot makes a request that may wait for others of its kind, which leave the rest of the
// requests in flight to what cannot wait.
func InSlot[T any](ctx context.Context, slots Slots, request func() (T, error)) (T, error) {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return request()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// SearchUUID asks the whole vCenter, beyond the configured datacenters, for machines with a
// UUID.
func SearchUUID(ctx context.Context, client *vim25.Client, u inventory.UUID) ([]types.ManagedObjectReference, error) {
	res, err := methods.FindAllByUuid(ctx, client, &types.FindAllByUuid{
		This:     *client.ServiceContent.SearchIndex,
		Uuid:     u.String(),
		VmSearch: true,
	})
	if err != nil {
		return nil, fmt.Errorf("searching for UUID %s: %w", u, err)
	}
	return res.Returnval, nil
}

// DisconnectedHost returns the name of a host that is not connected, and not in standby, empty if
// the account sees none.
func DisconnectedHost(ctx context.Context, s Session) (name string, err error) {
	view, err := containerView(ctx, s, s.Client().ServiceContent.RootFolder, "HostSystem")
	if err != nil {
		return "", err
	}
	const power = "runtime.powerState"
	err = s.Retrieve(ctx, model.ViewSpec(view, "HostSystem", "name", model.HostConnected, power), func(o *types.ObjectContent) {
		is := map[string]any{"name": o.Obj.Value}
		for _, p := range o.PropSet {
			is[p.Name] = p.Val
		}
		if state, known := is[model.HostConnected]; known && state != types.HostSystemConnectionStateConnected && is[power] != types.HostSystemPowerStateStandBy {
			name = fmt.Sprint(is["name"])
		}
	})
	return name, quote.Errors(quote.Most, err, s.Destroy(ctx, view))
}
