package watch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/internal/signal"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

const (
	// askHomeAgain is the least time between two questions about one machine: it may have been
	// hidden, and be deleted since.
	askHomeAgain = 10 * time.Second
	// replyLasts is how long a reply counts.
	replyLasts = time.Hour
)

// homeQuestions are the machines that Nodes were last found as, that are not shown any more, and
// that somebody wants the vCenter to be asked about, by managed object ID.
type homeQuestions struct {
	changed signal.Signal
	mu      sync.Mutex
	ids     map[string]bool
}

// AskHome has the vCenter asked whether a managed object exists, unless it was a moment ago. A
// later snapshot has the reply.
func (i *Inbox) AskHome(id string) {
	i.homes.mu.Lock()
	defer i.homes.mu.Unlock()
	if i.homes.ids == nil {
		i.homes.ids = map[string]bool{}
	}
	i.homes.ids[id] = true
	i.homes.changed.Notify()
}

func (q *homeQuestions) take() map[string]bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := q.ids
	q.ids = nil
	return ids
}

// A homeAsker asks the vCenter about machines that are not shown any more, in a goroutine of its own.
type homeAsker struct {
	session   Session
	slots     Slots
	questions *homeQuestions
	// catchUp waits until the model has what the vCenter has reported.
	catchUp func(context.Context) error
	// replies is sent to by run, and received from by the goroutine of the model. Nobody closes it.
	replies chan map[string]inventory.Reply
	// unanswered are the VMs about which the last question failed and was logged. One call of ask has it.
	unanswered map[string]bool
}

// run asks until the context is done. A call that fails without an answer ends the watch.
func (h *homeAsker) run(ctx context.Context) error {
	asked := map[string]time.Time{}
	for {
		select {
		case <-h.questions.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		ids := h.questions.take()
		maps.DeleteFunc(asked, func(_ string, at time.Time) bool { return time.Since(at) >= askHomeAgain })
		maps.DeleteFunc(ids, func(id string, _ bool) bool { return !asked[id].IsZero() })
		if len(ids) == 0 {
			continue
		}
		replies, err := h.ask(ctx, ids)
		if err != nil {
			return err
		}
		for id := range replies {
			asked[id] = time.Now()
		}
		// A machine that is gone may have been registered again, which the index shows then.
		if err := h.catchUp(ctx); err != nil {
			return err
		}
		select {
		case h.replies <- replies:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask asks about each machine with a request of its own, side by side.
func (h *homeAsker) ask(ctx context.Context, ids map[string]bool) (map[string]inventory.Reply, error) {
	var mu sync.Mutex
	replies := make(map[string]inventory.Reply, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cap(h.slots))
	for id := range ids {
		g.Go(func() error {
			reply, err := InSlot(ctx, h.slots, func() (inventory.Reply, error) { return AskAbout(ctx, h.session, id) })
			if err != nil && !answeredWithFault(h.session, err) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				delete(h.unanswered, id)
			} else if !h.unanswered[id] {
				h.unanswered[id] = true
				klog.FromContext(ctx).Info("The vCenter does not say whether the VM of a Node exists; the Node keeps what it has", "moid", quote.Plain(id), "err", err)
			}
			replies[id] = reply
			return nil
		})
	}
	return replies, g.Wait()
}

// AskAbout asks a vCenter whether a machine exists. With an error the reply is [inventory.Hidden].
func AskAbout(ctx context.Context, s Session, id string) (inventory.Reply, error) {
	template := false
	err := s.Retrieve(ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.template"}}},
		ObjectSet: []types.ObjectSpec{{Obj: model.MachineRef(id)}},
	}, func(o *types.ObjectContent) {
		for _, p := range o.PropSet {
			template, _ = p.Val.(bool)
		}
	})
	switch {
	case err == nil && template:
		return inventory.Other, nil
	case err == nil:
		return inventory.There, nil
	case faults.Gone(err) && !faults.SessionLost(s.Classify(err)):
		return inventory.Gone, nil
	case faults.Denied(err):
		return inventory.Hidden, nil
	}
	return inventory.Hidden, err
}

// A homeReply is what a vCenter said of a machine, and when.
type homeReply struct {
	reply inventory.Reply
	at    time.Time
}

// homeReplies are those of this watch, by managed object ID. They belong to the goroutine of the
// model.
type homeReplies map[string]homeReply

// add adds a reply and reports whether it is new.
func (h homeReplies) add(id string, reply inventory.Reply) (isNew bool) {
	isNew = h[id].reply != reply
	h[id] = homeReply{reply, time.Now()}
	return isNew
}

// of returns what snapshots have of them. A machine that is in the index with a UUID and that a Node's UUID does
// not lead to has another one.
func (h homeReplies) of(m *model.Model) map[string]inventory.Reply {
	maps.DeleteFunc(h, func(_ string, r homeReply) bool { return time.Since(r.at) > replyLasts })
	if len(h) == 0 {
		return nil
	}
	now := make(map[string]inventory.Reply, len(h))
	for id, r := range h {
		switch {
		case !m.Has(id):
			now[id] = r.reply
		case m.IsIndexed(id):
			now[id] = inventory.Other
		default:
			now[id] = inventory.There
		}
	}
	return now
}

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
			n := fmt.Sprint(is["name"])
			name = min(cmp.Or(name, n), n) // whichever is reported first
		}
	})
	return name, quote.Errors(quote.Most, err, s.Destroy(ctx, view))
}
