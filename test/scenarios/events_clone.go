package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vzones/test/fleet"
)

// cloneCommands are about machines without a configuration, as those that are
// being cloned and as inaccessible ones are, and about Fault Tolerance.
func cloneCommands() []command {
	return []command{
		{"vm unreadable VM", "lets its configuration not be readable although it is connected, as in the first seconds of a clone; its summary has no UUID then", onMachines(func(v *fleet.VCenter, vm string) error { return v.SetReadable(vm, false) })},
		{"vm readable VM", "undoes that", onMachines(func(v *fleet.VCenter, vm string) error { return v.SetReadable(vm, true) })},
		{"vm summary VM UUID", "lets the summary of an unreadable machine show a BIOS UUID", onMachinesWith("UUID", (*fleet.VCenter).SetSummaryUUID)},
		{"vm protect VM HOST", "has Fault Tolerance protect it: a secondary of the same name and UUID runs on another host of the cluster", onMachinesWith("HOST", (*fleet.VCenter).Protect)},
		{"vm lose-primary VM", "takes the primary out of the inventory, as when its host fails; the secondary has not taken over yet", onMachines((*fleet.VCenter).LosePrimary)},
		{"vm fail-over VM", "lets the secondary take over", onMachines((*fleet.VCenter).FailOver)},
		{"clones start VCENTER DATACENTER every DURATION", "has somebody clone machines: that often a new one comes, and the third last gets its configuration, so that there are always some without", startClones},
		{"clones stop", "ends it", func(*arguments) action {
			return func(_ context.Context, w *world) error { return w.endClones() }
		}},
	}
}

// clonesBare is how many of the clones have no configuration yet.
const clonesBare = 3

// A cloner makes machines until it is ended.
type cloner struct {
	end  func()
	done sync.WaitGroup
	err  error
}

func startClones(a *arguments) action {
	vcenter, datacenter := a.vcenter(), a.word("DATACENTER")
	every := a.duration()
	return func(ctx context.Context, w *world) error {
		if w.cloner != nil {
			return errors.New("somebody clones machines already")
		}
		ctx, cancel := context.WithCancel(ctx)
		w.cloner = &cloner{end: cancel}
		w.cloner.done.Go(func() { w.cloner.err = keepCloning(ctx, w.stack.Fleet.VCenter(vcenter), datacenter, every) })
		return nil
	}
}

func keepCloning(ctx context.Context, v *fleet.VCenter, datacenter string, every time.Duration) error {
	name := func(n int) string { return fmt.Sprintf("clone-%04d", n) }
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := v.Create(datacenter, fleet.VMSpec{Name: name(n), Unreadable: true, Power: "off"}); err != nil {
			return err
		}
		if n >= clonesBare {
			if err := v.SetReadable(name(n-clonesBare), true); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// endClones ends the cloning, if there is any.
func (w *world) endClones() error {
	if w.cloner == nil {
		return nil
	}
	w.cloner.end()
	w.cloner.done.Wait()
	err := w.cloner.err
	w.cloner = nil
	return err
}
