package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/time/rate"

	"vzones/topology/signal"
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

// A poller waits for changes, in a goroutine of its own.
type poller struct {
	session   Session
	collector types.ManagedObjectReference
	// pollTime is how long the server may hold a poll open, timeout how much longer its
	// answer is waited for, and firstPage the least wait for the first one.
	pollTime, timeout, firstPage time.Duration
	// arrived is closed by run when the first page has come. updates has the pages, nil
	// where nothing has changed; run sends, and nobody closes it.
	arrived chan struct{}
	updates chan *types.UpdateSet
	// hurry says that something waits for the next page: the goroutine of the model sends.
	hurry signal.Signal
}

// run hands changes over page by page, smaller ones after one that is too large. Each page has a
// deadline of its own. That of the first is longer: the server collects everything for it. Once a
// change is there with all its pages, the next poll is paced unless something waits for it, since
// others decide how often a vCenter changes and whether it holds a poll open.
func (p *poller) run(ctx context.Context) error {
	seconds := int32(p.pollTime / time.Second)
	version, first, page := "", true, int32(updatesPerPage)
	pace := rate.NewLimiter(rate.Every(time.Second), pollsAtOnce)
	for {
		deadline := p.pollTime + p.timeout
		if first {
			deadline = max(deadline, p.firstPage)
		}
		res, err := methods.WaitForUpdatesEx(ctx, p.session.LongPoll(deadline), &types.WaitForUpdatesEx{
			This:    p.collector,
			Version: version,
			Options: &types.WaitOptions{MaxWaitSeconds: &seconds, MaxObjectUpdates: page},
		})
		if errors.Is(err, session.LargeAnswer) && page > 1 {
			page /= 10
			continue
		}
		if err != nil && faults.Gone(err) {
			err = &faults.SessionLostError{Err: err} // the collector is the session's own
		}
		if err != nil {
			return fmt.Errorf("waiting for changes: %w", err)
		}
		if first {
			first = false
			close(p.arrived)
		}
		if res.Returnval != nil {
			version = res.Returnval.Version
		}
		select {
		case p.updates <- res.Returnval:
		case <-ctx.Done():
			return ctx.Err()
		}
		if isPartial(res.Returnval) {
			continue
		}
		turn := pace.Reserve()
		select {
		case <-time.After(turn.Delay()):
		case <-p.hurry:
			turn.Cancel()
		case <-ctx.Done():
			return ctx.Err()
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
	loading, arrived := again.C, p.arrived
	for {
		select {
		case <-p.asked:
		case <-loading:
		case <-arrived:
			loading, arrived = nil, nil
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
