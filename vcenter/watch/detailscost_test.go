package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// counting is a vCenter that takes any machine on a list and counts what is read of machines.
type counting struct{ read int }

func (c *counting) RoundTrip(_ context.Context, req, res soap.HasFault) error {
	switch res := res.(type) {
	case *methods.ModifyListViewBody:
		res.Res = &types.ModifyListViewResponse{}
	case *methods.RetrievePropertiesExBody:
		c.read += len(req.(*methods.RetrievePropertiesExBody).Req.SpecSet[0].ObjectSet)
		res.Res = &types.RetrievePropertiesExResponse{}
	}
	return nil
}

// TestDetailsAreTransferredOnce: while a vCenter is loaded its filter is waited for, which
// reports the details of each machine that is followed. What it does not report is read after
// a while; and once the vCenter is read, a machine that is followed is read at once, but not
// when there are many.
func TestDetailsAreTransferredOnce(t *testing.T) {
	const other = "99999999-2222-3333-4444-555555555555"
	indexed := types.ManagedObjectReference{Type: "PropertyFilter", Value: "index"}
	details := types.ManagedObjectReference{Type: "PropertyFilter", Value: "details"}
	reported := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: details, ObjectSet: []types.ObjectUpdate{
		update(types.ObjectUpdateKindEnter, "config.uuid", stranger, "name", "n1"),
	}}}}
	entered := func(moid, uuid string) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: model.MachineRef(moid), ChangeSet: []types.PropertyChange{{Name: "config.uuid", Val: uuid}}}
	}
	index := func(moid, uuid string) *types.UpdateSet {
		return &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: indexed, ObjectSet: []types.ObjectUpdate{entered(moid, uuid)}}}}
	}
	many := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: indexed}}}
	followed := []string{stranger}
	for i := range readAtOnce + 1 {
		uuid := fmt.Sprintf("99999999-2222-3333-4444-%012d", i)
		followed = append(followed, uuid)
		many.FilterSet[0].ObjectSet = append(many.FilterSet[0].ObjectSet, entered(fmt.Sprintf("vm-%d", 10+i), uuid))
	}
	followMany := func(w *Watch, follow func(...string)) {
		w.poller.updates <- reported
		time.Sleep(2 * syncTime)
		w.poller.updates <- many
		follow(followed...)
		synctest.Wait()
	}
	for name, c := range map[string]struct {
		do   func(w *Watch, follow func(...string))
		want int
	}{
		"reported": {func(w *Watch, _ func(...string)) {
			w.poller.updates <- reported
			time.Sleep(time.Minute)
		}, 0},
		"not yet":      {func(*Watch, func(...string)) { time.Sleep(syncTime - time.Nanosecond) }, 0},
		"not reported": {func(*Watch, func(...string)) { time.Sleep(syncTime) }, 1},
		"another one, later": {func(w *Watch, follow func(...string)) {
			w.poller.updates <- reported
			w.poller.updates <- index("vm-2", other)
			follow(stranger, other)
		}, 1},
		"many, later": {func(w *Watch, follow func(...string)) {
			followMany(w, follow)
			time.Sleep(syncTime - time.Nanosecond)
		}, 0},
		"many, not reported": {func(w *Watch, follow func(...string)) {
			followMany(w, follow)
			time.Sleep(syncTime)
		}, readAtOnce + 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				server := &counting{}
				w, _ := newWatch(server, nil)
				w.views.details[details], w.views.index[indexed] = true, true
				follow := func(uuids ...string) {
					var ids []inventory.Identity
					for _, u := range uuids {
						ids = append(ids, identity(t, u))
					}
					w.inbox.Follow(NewInterest(ids))
				}
				follow(stranger)
				ended := make(chan error, 1)
				go func() { ended <- w.follow(ctx) }()
				w.poller.updates <- index("vm-1", stranger)
				synctest.Wait()
				c.do(w, follow)
				synctest.Wait()
				if server.read != c.want {
					t.Errorf("%d machines were read, not %d", server.read, c.want)
				}
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
			})
		})
	}
}
