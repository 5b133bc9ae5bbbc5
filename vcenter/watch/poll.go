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
	// updatesPerPage is the requested page size. The server may return fewer, by default 100.
	updatesPerPage = 1000
	pollBurst      = 5
)

// A feed reads the changes of one property collector.
type feed struct {
	session   Session
	collector types.ManagedObjectReference
	// The server may block a poll for pollTime; timeout is added for its answer. firstPage is the
	// minimum deadline of the first page.
	pollTime, timeout, firstPage time.Duration
	// version is the server's token for the state last read, empty before the first page.
	version  string
	pageSize int32
}

// next returns nil if nothing changes within maxWait.
func (f *feed) next(ctx context.Context, maxWait time.Duration) (*types.UpdateSet, error) {
	seconds := int32(maxWait / time.Second)
	deadline := maxWait + f.timeout
	if f.version == "" {
		deadline = max(deadline, f.firstPage)
	}
	for {
		res, err := methods.WaitForUpdatesEx(ctx, f.session.LongPoll(deadline), &types.WaitForUpdatesEx{
			This:    f.collector,
			Version: f.version,
			Options: &types.WaitOptions{MaxWaitSeconds: &seconds, MaxObjectUpdates: f.pageSize},
		})
		if errors.Is(err, session.LargeAnswer) && f.pageSize > 1 {
			f.pageSize /= 10
			continue
		}
		// A collector exists as long as its session.
		if err != nil && faults.Gone(err) {
			err = &faults.SessionLostError{Err: err}
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

type poller struct {
	feed
	views *views
	alarm *alarm
	// arrived is closed after the first page. updates receives nil if nothing has changed.
	arrived chan struct{}
	updates chan *types.UpdateSet
	pauses  chan struct{}
	// pollNow ends any wait before the next poll, endPause only a pause.
	pollNow, endPause signal.Signal
	// joining is set if a recently joined Node has no VM yet.
	joining atomic.Bool
}

// run limits the rate of polls: other tenants decide how often the vCenter changes, and not every server
// blocks polls. After a change of VMs without a Node it pauses for pollTime, so that such changes cause
// no more polls than an idle vCenter.
func (p *poller) run(ctx context.Context) error {
	pace := rate.NewLimiter(rate.Every(time.Second), pollBurst)
	urgent := true
	maxWait := p.pollTime
	for first := true; ; {
		p.pollNow.Clear()
		p.endPause.Clear()
		page, err := p.next(ctx, maxWait)
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
		reservation := pace.Reserve()
		maxWait = p.pollTime
		if !urgent && !p.joining.Load() {
			// The poll after the pause returns at once, so that the model catches up.
			maxWait = 0
			if err := p.pause(ctx); err != nil {
				return err
			}
		}
		urgent = false
		select {
		case <-time.After(reservation.Delay()):
		case <-p.pollNow:
			reservation.Cancel()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *poller) pause(ctx context.Context) error {
	p.alarm.arm.Notify()
	select {
	case p.pauses <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-time.After(p.pollTime):
	case <-p.endPause:
	case <-p.pollNow:
		p.pollNow.Notify()
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// An alarm watches only the VMs of Nodes while the poller pauses. It triggers the poller, which reads
// the change again, so that the model gets every change from one collector.
type alarm struct {
	feed
	create       func(context.Context) (types.ManagedObjectReference, error)
	arm, trigger signal.Signal
}

func (a *alarm) run(ctx context.Context) error {
	for {
		select {
		case <-a.arm:
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
		// The first page may contain changes since the poller's last poll.
		if page != nil && len(page.FilterSet) > 0 {
			a.trigger.Notify()
		}
	}
}

func isPartial(page *types.UpdateSet) bool {
	return page != nil && page.Truncated != nil && *page.Truncated
}

type prober struct {
	session   Session
	requested signal.Signal
	// answered receives the start time of each successful probe.
	answered chan time.Time
	interval time.Duration
	arrived  <-chan struct{}
}

// run probes on request, because a blocked poll proves nothing, and at an interval until the first
// page, which may take minutes.
func (p *prober) run(ctx context.Context) error {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	ticks := ticker.C
	arrived := p.arrived
	for {
		select {
		case <-p.requested:
		case <-ticks:
		case <-arrived:
			ticks = nil
			arrived = nil
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		asked := time.Now()
		if err := p.session.Ping(ctx); err != nil {
			return fmt.Errorf("probing the vCenter: %w", err)
		}
		select {
		case p.answered <- asked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
