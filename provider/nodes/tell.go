package nodes

import (
	"cmp"
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"vzones/provider/condition"
	"vzones/provider/identity"
	"vzones/topology"
	"vzones/topology/quote"
)

// eventsPerSecond is how many Events are written when many Nodes are in trouble
// at once.
const eventsPerSecond = 10

// outsideTimeout bounds the search that precedes an Event, which others wait for. It is
// longer than a slow vCenter takes for it.
const outsideTimeout = 10 * time.Second

// complaint is what an Event is to tell of a Node.
type complaint struct {
	node *v1.Node
	what string
	err  error
	// event is the Event's reason, empty if the error decides it.
	event string
}

// teller writes Events about Nodes in trouble. Before one says that no vCenter has
// the machine it looks beyond the configured datacenters, which takes a request.
type teller struct {
	fleet    Fleet
	recorder record.EventRecorder
	queue    chan complaint

	// told are the Events handed over in the second that began then. They belong
	// to the goroutine that tells.
	told   int
	second time.Time
}

func newTeller(fleet Fleet, recorder record.EventRecorder) *teller {
	return &teller{fleet: fleet, recorder: recorder, queue: make(chan complaint, eventsPerSecond)}
}

// tell has an Event written, or returns how long that has to wait: what records
// Events drops those that come faster than the API server takes them.
func (t *teller) tell(of complaint) time.Duration {
	if passed := time.Since(t.second); passed >= time.Second {
		t.second, t.told = time.Now(), 0
	} else if t.told == eventsPerSecond {
		return time.Second - passed
	}
	select {
	case t.queue <- of:
		t.told++
		return 0
	default:
		return time.Second // a search takes that long
	}
}

// run writes Events until the context is done.
func (t *teller) run(ctx context.Context) {
	for {
		select {
		case of := <-t.queue:
			err := t.seek(ctx, of)
			if ctx.Err() != nil {
				return
			}
			text := quote.Line(err.Error())
			reason := cmp.Or(of.event, condition.Of(err).Event)
			t.recorder.Event(of.node, v1.EventTypeWarning, reason, text)
			klog.FromContext(ctx).Info(of.what, "node", klog.KObj(of.node), "reason", reason, "err", text)
		case <-ctx.Done():
			return
		}
	}
}

// seek returns what is wrong, after a look at where the index does not reach.
func (t *teller) seek(ctx context.Context, of complaint) error {
	if of.event != "" || !errors.Is(of.err, topology.ErrAbsent) {
		return of.err
	}
	id, err := identity.Of(of.node)
	if err != nil || len(id.UUIDs) == 0 {
		return of.err
	}
	ctx, cancel := context.WithTimeout(ctx, outsideTimeout)
	defer cancel()
	if err := t.fleet.SearchOutside(ctx, id); err != nil {
		return err
	}
	return of.err
}
