package watch

import (
	"context"
	"fmt"
	"time"

	"vzones/topology/signal"
)

// A prober has the vCenter prove that it answers, in goroutines of its own.
type prober struct {
	session Session
	asked   signal.Signal
	// answered has when a probe was asked that the vCenter has answered: it may have hung
	// since, and what it has to report comes another way. Run sends, nobody closes it.
	answered chan time.Time
	// every is the time between two probes until arrived is closed.
	every   time.Duration
	arrived <-chan struct{}
}

// run asks the vCenter for its time whenever a proof is wanted that it answers. The long
// poll proves that only when it returns. A vCenter that does not answer ends the watch.
func (p *prober) run(ctx context.Context) error {
	for {
		select {
		case <-p.asked:
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

// whileLoading asks for a proof that the vCenter answers as often as a long poll would give
// one, until the first page of its machines has arrived: that may take minutes, and a vCenter
// that hangs is to be known sooner.
func (p *prober) whileLoading(ctx context.Context) error {
	again := time.NewTicker(p.every)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			p.asked.Notify()
		case <-p.arrived:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
