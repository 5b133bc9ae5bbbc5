package nodes

import (
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"vzones/provider/condition"
	"vzones/provider/identity"
	"vzones/topology"
	"vzones/topology/quote"
)

// problemsPerSecond is how many Events are written when something is wrong with many Nodes
// at once: what records Events drops those that come faster than the API server takes them.
const problemsPerSecond = 10

// outsideTimeout bounds the search that precedes an Event, which others wait for. It is
// longer than a slow vCenter takes for it.
const outsideTimeout = 10 * time.Second

// problem is what an Event has to say about a Node.
type problem struct {
	node *v1.Node
	what string
	err  error
	// event is the Event's reason, empty if the error decides it.
	event string
	// again reports whether the last Event about the Node says the same.
	again bool
	// over is the text of an Event that something is over, empty for one that it is not.
	over string
	// said is called with what the Event has said, unless it is nil.
	said func(said)
}

// said is what an Event has said, zero if nothing.
type said struct {
	reason, text string
	// err is what it said that of.
	err error
}

// recorder writes Events about problems of Nodes. Before one says that no vCenter has
// the machine it searches beyond the configured datacenters, which takes a request.
type recorder struct {
	fleet  Fleet
	events record.EventRecorder
	limit  *rate.Limiter
	// queue is sent by record and received by run. Nobody closes it.
	queue chan problem
}

func newRecorder(fleet Fleet, events record.EventRecorder) *recorder {
	return &recorder{
		fleet: fleet, events: events, queue: make(chan problem, problemsPerSecond),
		limit: rate.NewLimiter(problemsPerSecond, problemsPerSecond),
	}
}

// record records an Event when the reservation of the Node is due, and returns how long that has to
// wait.
func (r *recorder) record(at *reservation, of problem) time.Duration {
	if wait := at.wait(r.limit); wait > 0 {
		return wait
	}
	select {
	case r.queue <- of:
		at.done()
		return 0
	default:
		return time.Second // a search takes that long
	}
}

// run writes Events until the context is done.
func (r *recorder) run(ctx context.Context) {
	for {
		select {
		case of := <-r.queue:
			if of.over != "" {
				r.writeOver(ctx, of)
			} else {
				r.writeWarning(ctx, of)
			}
		case <-ctx.Done():
			return
		}
	}
}

// writeOver writes an Event that something is over.
func (r *recorder) writeOver(ctx context.Context, of problem) {
	r.events.Event(of.node, v1.EventTypeNormal, condition.ReasonResolved, of.over)
	klog.FromContext(ctx).V(2).Info("A problem of the Node is over", "node", klog.KObj(of.node), "text", of.over)
}

// writeWarning writes an Event that something is wrong, unless the context is done.
func (r *recorder) writeWarning(ctx context.Context, of problem) {
	err := r.search(ctx, of)
	if ctx.Err() != nil {
		return
	}
	text := condition.Message(err)
	reason := cmp.Or(of.event, condition.Of(err).Event)
	r.events.Event(of.node, v1.EventTypeWarning, reason, text)
	if !of.again {
		ctx := withVCenter(ctx, lastVCenter(r.fleet.States(), of.node))
		klog.FromContext(ctx).Info(of.what, "node", klog.KObj(of.node), "reason", reason, "err", quote.Line(err.Error()))
	}
	if of.said != nil {
		of.said(said{reason, text, err})
	}
}

// search returns what is wrong, after a search where the index does not reach.
func (r *recorder) search(ctx context.Context, of problem) error {
	if of.event != "" || !errors.Is(of.err, topology.ErrAbsent) {
		return of.err
	}
	id, err := identity.Of(of.node)
	if err != nil || len(id.UUIDs) == 0 {
		return of.err
	}
	ctx, cancel := context.WithTimeout(ctx, outsideTimeout)
	defer cancel()
	if err := r.fleet.SearchOutside(ctx, id); err != nil {
		return err
	}
	return of.err
}
