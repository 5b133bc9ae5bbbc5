package watch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/time/rate"

	"vzones/internal/signal"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

const (
	// updatesPerPage is how many changes a server is asked to put on a page. It may
	// put fewer on it, by default 100.
	updatesPerPage = 1000
	// pollsAtOnce is how many polls may follow each other before they are a second apart.
	pollsAtOnce = 5
)

// A feed reads the changes that one property collector reports, page by page. One goroutine uses it.
type feed struct {
	session   Session
	collector types.ManagedObjectReference
	// pollTime is how long the server may hold a poll open, timeout how much longer its
	// answer is waited for, and firstPage the least wait for the first one.
	pollTime, timeout, firstPage time.Duration
	// version is the server's name for what was read, empty before the first page. objects is how many
	// changes it is asked to put on a page.
	version string
	objects int32
}

// next returns the next page, nil if nothing has changed or changes in a time. Each page has a deadline of its own.
// That of the first is longer: the server collects everything for it. Smaller pages follow one that is too large.
func (f *feed) next(ctx context.Context, within time.Duration) (*types.UpdateSet, error) {
	seconds := int32(within / time.Second)
	deadline := within + f.timeout
	if f.version == "" {
		deadline = max(deadline, f.firstPage)
	}
	for {
		res, err := methods.WaitForUpdatesEx(ctx, f.session.LongPoll(deadline), &types.WaitForUpdatesEx{
			This:    f.collector,
			Version: f.version,
			Options: &types.WaitOptions{MaxWaitSeconds: &seconds, MaxObjectUpdates: f.objects},
		})
		if errors.Is(err, session.LargeAnswer) && f.objects > 1 {
			f.objects /= 10
			continue
		}
		if err != nil && faults.Gone(err) {
			err = &faults.SessionLostError{Err: err} // the collector is the session's own
		}
		if err != nil {
			return nil, fmt.Errorf("waiting for changes: %w", err)
		}
		if res.Returnval != nil {
			f.version = res.Returnval.Version
		}
		return res.Returnval, nil
	}
}

// A poller waits for changes, in a goroutine of its own.
type poller struct {
	feed
	// views tells which filters report Nodes' VMs.
	views *views
	alarm *alarm
	// arrived is closed by run when the first page has come. updates has the pages, nil
	// where nothing has changed, and rests a token after each page that is followed by a rest. Run sends, and nobody closes
	// them.
	arrived chan struct{}
	updates chan *types.UpdateSet
	rests   chan struct{}
	// hurry ends any pause between two polls: the goroutine of the model sends. soon ends a rest.
	hurry, soon signal.Signal
	// joining reports whether a Node has joined lately whose VM no poll has shown yet. The goroutine of the
	// model sets it.
	joining atomic.Bool
}

// run hands changes over page by page. Others decide how often a vCenter changes and whether it holds a poll open, so
// the polls are paced. Once a change is there with all its pages, the next poll follows within a second. If the change
// concerns only VMs without a Node, the poller rests for pollTime first, so that these cause no more polls than if
// nothing changed, and the alarm watches the VMs of Nodes meanwhile. A change that concerns both is one of Nodes.
func (p *poller) run(ctx context.Context) error {
	pace := rate.NewLimiter(rate.Every(time.Second), pollsAtOnce)
	urgent := true // the first change has everything
	within := p.pollTime
	for first := true; ; {
		// Earlier requests for the next poll are met by the one that begins now.
		p.hurry.Clear()
		p.soon.Clear()
		page, err := p.next(ctx, within)
		if err != nil {
			return err
		}
		if first {
			first = false
			close(p.arrived)
		}
		select {
		case p.updates <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
		urgent = urgent || page == nil || p.views.concernsNodes(page)
		if isPartial(page) {
			continue
		}
		turn := pace.Reserve()
		within = p.pollTime
		if !urgent && !p.joining.Load() {
			// The poll after the rest reports what has changed until then and returns: the model is behind until it does.
			within = 0
			if err := p.rest(ctx); err != nil {
				return err
			}
		}
		urgent = false
		select {
		case <-time.After(turn.Delay()):
		case <-p.hurry:
			turn.Cancel()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rest waits until pollTime is over or something waits for the next poll.
func (p *poller) rest(ctx context.Context) error {
	p.alarm.armed.Notify()
	select {
	case p.rests <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(p.pollTime):
	case <-p.soon:
	case <-p.hurry:
		p.hurry.Notify() // the pace looks at it too
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// An alarm watches the VMs of Nodes while the poller rests, in a goroutine of its own. Its collector reports
// nothing but them, so the changes of all other VMs do not end its polls. It only triggers the poller, which then
// reads the same changes with all others: the model gets each change from one collector.
type alarm struct {
	feed
	// create makes the collector, when it is first needed.
	create func(context.Context) (types.ManagedObjectReference, error)
	// armed starts a poll, and trigger ends the poller's rest.
	armed, trigger signal.Signal
}

func (a *alarm) run(ctx context.Context) error {
	for {
		select {
		case <-a.armed:
		case <-ctx.Done():
			return ctx.Err()
		}
		if a.collector.Value == "" {
			var err error
			if a.collector, err = a.create(ctx); err != nil {
				return err
			}
		}
		page, err := a.next(ctx, a.pollTime)
		for ; err == nil && isPartial(page); page, err = a.next(ctx, a.pollTime) {
			a.trigger.Notify()
		}
		if err != nil {
			return err
		}
		// The first page also has what the poller has read, and may have what has changed since.
		if page != nil && len(page.FilterSet) > 0 {
			a.trigger.Notify()
		}
	}
}

// isPartial reports whether further pages of a change are to come after a page, which may be nil.
func isPartial(page *types.UpdateSet) bool {
	return page != nil && page.Truncated != nil && *page.Truncated
}

// A prober has the vCenter prove that it answers, in a goroutine of its own.
type prober struct {
	session Session
	asked   signal.Signal
	// answered has when a probe was asked that the vCenter has answered: it may have hung
	// since, and what it has to report comes another way. Run sends, nobody closes it.
	answered chan time.Time
	// every is the pause between two probes until arrived is closed.
	every   time.Duration
	arrived <-chan struct{}
}

// run asks the vCenter for its time whenever a proof is wanted that it answers, since the long poll
// proves that only when it returns; and as often as a long poll would give one until the first page of
// its machines has arrived, which may take minutes. A vCenter that does not answer ends the watch.
func (p *prober) run(ctx context.Context) error {
	again := time.NewTicker(p.every)
	defer again.Stop()
	loading := again.C
	arrived := p.arrived
	for {
		select {
		case <-p.asked:
		case <-loading:
		case <-arrived:
			loading = nil
			arrived = nil
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		asked := time.Now()
		if err := p.session.Ping(ctx); err != nil {
			return fmt.Errorf("asking whether it answers: %w", err)
		}
		select {
		case p.answered <- asked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
