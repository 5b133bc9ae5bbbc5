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
	askHomeInterval = 10 * time.Second
	replyTTL        = time.Hour
)

// homeQuestions are VMs to ask about. A home is the last known location of a Node's VM.
type homeQuestions struct {
	changed signal.Signal
	mu      sync.Mutex
	ids     map[string]bool
}

// AskHome requests a check whether a managed object exists. A later snapshot has the reply.
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

type homeAsker struct {
	session   Session
	slots     Slots
	questions *homeQuestions
	catchUp   func(context.Context) error
	replies   chan map[string]inventory.Reply
	// unanswered are the VMs whose last question failed and was logged.
	unanswered map[string]bool
}

func (h *homeAsker) run(ctx context.Context) error {
	asked := map[string]time.Time{}
	for {
		select {
		case <-h.questions.changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		ids := h.questions.take()
		maps.DeleteFunc(asked, func(_ string, at time.Time) bool { return time.Since(at) >= askHomeInterval })
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
		// If the VM was registered again, the index has it after catchUp.
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

// ask sends one request per VM: a request fails as a whole if one VM is missing.
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
				klog.FromContext(ctx).Info("The vCenter does not report whether the VM of a Node exists; the Node stays unchanged", "moid", quote.Plain(id), "err", err)
			}
			replies[id] = reply
			return nil
		})
	}
	return replies, g.Wait()
}

// AskAbout asks whether a VM exists. With an error the reply is [inventory.Hidden].
func AskAbout(ctx context.Context, s Session, id string) (inventory.Reply, error) {
	template := false
	err := s.Retrieve(ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"config.template"}}},
		ObjectSet: []types.ObjectSpec{{Obj: model.VMRef(id)}},
	}, func(o *types.ObjectContent) {
		for _, p := range o.PropSet {
			template, _ = p.Val.(bool)
		}
	})
	switch {
	case err == nil && template:
		return inventory.Different, nil
	case err == nil:
		return inventory.Present, nil
	case faults.Gone(err) && !faults.SessionLost(s.Classify(err)):
		return inventory.Gone, nil
	case faults.Denied(err):
		return inventory.Hidden, nil
	}
	return inventory.Hidden, err
}

type homeReply struct {
	reply      inventory.Reply
	receivedAt time.Time
}

// homeReplies are by managed object ID. The model goroutine owns them.
type homeReplies map[string]homeReply

func (h homeReplies) add(id string, reply inventory.Reply) (isNew bool) {
	isNew = h[id].reply != reply
	h[id] = homeReply{reply, time.Now()}
	return isNew
}

// forSnapshot prefers the index to a reply: an indexed VM with a UUID is found by it, or is not the Node's.
func (h homeReplies) forSnapshot(m *model.Model) map[string]inventory.Reply {
	maps.DeleteFunc(h, func(_ string, r homeReply) bool { return time.Since(r.receivedAt) > replyTTL })
	if len(h) == 0 {
		return nil
	}
	replies := make(map[string]inventory.Reply, len(h))
	for id, r := range h {
		switch {
		case !m.Has(id):
			replies[id] = r.reply
		case m.HasUUID(id):
			replies[id] = inventory.Different
		default:
			replies[id] = inventory.Present
		}
	}
	return replies
}

// Slots bound the concurrent searches in one vCenter, to leave room for other calls.
type Slots chan struct{}

// NewSlots returns slots for four searches.
func NewSlots() Slots { return make(Slots, 4) }

// InSlot runs a request once a slot is free.
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

// SearchUUID searches the whole vCenter, including datacenters that are not configured.
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

// DisconnectedHost returns the first name of a host that is neither connected nor in standby, empty
// if the account sees none.
func DisconnectedHost(ctx context.Context, s Session) (name string, err error) {
	view, err := containerView(ctx, s, s.Client().ServiceContent.RootFolder, "HostSystem")
	if err != nil {
		return "", err
	}
	const power = "runtime.powerState"
	err = s.Retrieve(ctx, model.ViewSpec(view, "HostSystem", "name", model.HostConnected, power), func(o *types.ObjectContent) {
		properties := map[string]any{"name": o.Obj.Value}
		for _, p := range o.PropSet {
			properties[p.Name] = p.Val
		}
		if state, known := properties[model.HostConnected]; known && state != types.HostSystemConnectionStateConnected && properties[power] != types.HostSystemPowerStateStandBy {
			n := fmt.Sprint(properties["name"])
			name = min(cmp.Or(name, n), n)
		}
	})
	return name, quote.Errors(quote.Most, err, s.Destroy(ctx, view))
}
