package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/informers"

	"vzones/cmd/vsphere-cloud-controller-manager/app/credentials"
	"vzones/provider"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// Open reads the configuration and the Nodes, connects to all vCenters, and returns once each was
// read or has failed. What is wrong with one vCenter is in its State and is no error. An error is
// about what was asked for, or says that the context is done; nothing is open then.
//
// Each vCenter gets each password once. One that it rejects is not tried again, so that the account
// is not locked, which the daemon uses too.
func Open(ctx context.Context, f *Flags) (*World, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	ctx = f.withLog(ctx)
	w := &World{fleetRun: fleetRun{timeout: f.Timeout}}
	if err := w.connect(f); err != nil {
		return nil, err
	}
	finder, err := w.readConfig(ctx, f)
	if err != nil {
		return nil, err
	}
	if f.Beside != nil {
		f.Beside(w.Config)
	}
	if err := w.readNodes(ctx, f); err != nil {
		return nil, err
	}
	w.start(ctx, f, finder)
	err = w.read(ctx, f)
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// read waits for the vCenters, and for the machines of a folder.
func (w *World) read(ctx context.Context, f *Flags) error {
	deadline := time.Now().Add(f.Timeout)
	defer func() { w.until = latest(deadline, time.Now().Add(f.Timeout/4)) }()
	w.until = deadline.Add(f.Timeout / 4)
	if err := w.await(ctx, deadline); err != nil || f.Folder == "" {
		return err
	}
	if err := w.addFolder(ctx, f.Folder); err != nil {
		return err
	}
	w.follow()
	return w.await(ctx, deadline)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// leastRequestTime is how long one request may take at least, which is what the daemon gives it.
const leastRequestTime = 15 * time.Second

// onceRefresh is the refresh interval of tags where they are read once.
const onceRefresh = time.Hour

// options are those of the fleet. What has failed once has failed, unless it is followed: so a request
// may take longer where the vCenters may, and still fails before all of them are given up. A login has no
// less time than that: one that is given up leaves a session in the vCenter, and one that Close ends is
// waited for and logged out.
func (f *Flags) options() vcenter.Options {
	o := vcenter.Options{LoginTimeout: max(leastRequestTime, f.Timeout), LoginLimits: session.LoginLimits{Failures: 1, Queue: true}}
	if !f.Watch {
		o.Timeout = max(leastRequestTime, f.Timeout/3)
		o.TagRefresh = onceRefresh
		o.RetryMin, o.RetryMax = session.Never, session.Never
		o.LoginLimits.RejectedMin, o.LoginLimits.RejectedMax = session.Never, session.Never
		o.LoginLimits.UnansweredMin, o.LoginLimits.UnansweredMax = session.Never, session.Never
	}
	return o
}

// start makes the placer of the Nodes and runs the fleet, which follows their machines.
func (w *World) start(ctx context.Context, f *Flags, finder *credentials.Finder) {
	o := f.options()
	w.needs = vcenter.RequirementsOf(w.Config)
	o.Requirements = w.needs
	w.fleet = vcenter.NewFleet(w.Config.VCenters, finder.Find, o)
	w.changed = w.fleet.Subscribe()
	w.shown = &shown{Fleet: w.fleet}
	p := provider.New(w.shown, w.Config, provider.Options{})
	p.SetInformers(informers.NewSharedInformerFactory(nil, 0)) // it is never started: the Nodes were listed
	w.Placer, w.Checker = p.Placer(), p.Checker()
	if w.wanted = f.Follow; w.wanted == nil {
		w.wanted = func(w *World) []inventory.Identity { return w.Statements(w.Nodes) }
	}
	w.follow()
	ctx, w.cancel = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		_ = w.fleet.Run(ctx) // it has no error but that of the context
	}()
}

// detailsTime returns how long details of machines are waited for since the last ones came, if
// everything else was read: those of one that its vCenter does not let be followed never come, and
// those of thousands take a while to begin.
func (w *World) detailsTime() time.Duration { return max(10*time.Second, w.timeout/3) }

// await waits until each vCenter was read or has failed, which those have that are not read at the
// deadline.
func (w *World) await(ctx context.Context, deadline time.Time) error {
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	var enough <-chan time.Time // fires when no further details have come for a while
	lacking := 0                // of how many machines, when enough was set
	for {
		states := w.fleet.States()
		if w.isRead(states, true) {
			w.show(states)
			return nil
		}
		if now := w.lacking(states); enough == nil || now < lacking {
			enough, lacking = time.After(w.detailsTime()), now
		}
		select {
		case <-w.changed:
		case <-enough:
			if states = w.fleet.States(); w.isRead(states, false) {
				w.show(states)
				return nil
			}
			enough = nil
		case <-late.C:
			w.show(w.late(w.fleet.States()))
			return nil
		case <-ctx.Done():
			return fmt.Errorf("reading the vCenters: %w", context.Cause(ctx))
		}
	}
}

// show makes these the states of the World.
func (w *World) show(states []inventory.State) {
	w.States = slices.Clone(states) // which no caller can change for the placer
	w.shown.states.Store(&states)
}
