package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

var errNoStandby = errors.New("no standby runs")

// standbyCommands are about a second daemon, which waits to lead.
func standbyCommands() []command {
	return []command{
		{"standby start [FLAG…]", "starts a second daemon with the same configuration, with flags behind the usual ones, and waits until its log says that it waits to lead; both need `--leader-elect=true`", func(a *arguments) action {
			flags := a.rest()
			return func(ctx context.Context, w *world) error { return w.startStandby(ctx, flags) }
		}},
		{"standby warm [within DURATION]", "waits until the standby has read each vCenter, by its /readyz?verbose", func(a *arguments) action {
			within := a.within()
			a.p.asserts = true
			return func(ctx context.Context, w *world) error {
				return w.pollStandby(ctx, within, func(says string) bool {
					return strings.HasPrefix(says, standsBy) && !slices.ContainsFunc(strings.Split(strings.TrimSpace(says), "\n")[1:], func(line string) bool { return !strings.HasSuffix(line, ": synced") }) &&
						strings.Count(says, "synced") == len(w.stack.Fleet.VCenters())
				})
			}
		}},
		{"standby waits", "checks that the standby does not lead", func(a *arguments) action {
			a.p.asserts = true
			return func(ctx context.Context, w *world) error {
				if w.standby == nil {
					return errNoStandby
				}
				says, err := w.stack.Ready(ctx, w.standby)
				if !strings.HasPrefix(says, standsBy) {
					return errors.Join(err, fmt.Errorf("the standby does not stand by: %q", says))
				}
				return nil
			}
		}},
		{"standby leads [within DURATION]", "waits until the standby leads, from now on, when the daemon before it has ended; from then on it is the daemon", func(a *arguments) action {
			within := a.within()
			a.p.asserts = true
			return func(ctx context.Context, w *world) error {
				if w.daemon != nil {
					return errors.New("the daemon before it runs")
				}
				if err := w.pollStandby(ctx, within, func(says string) bool { return says != "" && !strings.HasPrefix(says, standsBy) }); err != nil {
					return err
				}
				w.promote()
				return nil
			}
		}},
	}
}

// standsBy is how /readyz?verbose of a standby begins.
const standsBy = "ok: standing by"

// waitsToLead is what the log of a standby says once it takes part in the election.
const waitsToLead = "Waiting to lead"

func (w *world) startStandby(ctx context.Context, flags []string) error {
	if w.standby != nil {
		return errors.New("a standby runs already")
	}
	var err error
	w.standby, err = w.stack.StartDaemon(w.binary, w.mount.Path(configFile), append([]string{"--v=10"}, flags...)...)
	if err != nil {
		return err
	}
	w.standbyFlags = flags
	return w.poll(ctx, defaultTimeout, func() bool { return strings.Contains(w.standby.Log(), waitsToLead) },
		func() error { return fmt.Errorf("the log of the standby does not contain %q", waitsToLead) })
}

// promote makes the standby the daemon.
func (w *world) promote() {
	w.daemon, w.last, w.flags, w.standby = w.standby, w.standby, w.standbyFlags, nil
	w.ownLog = w.daemon.OwnLog()
}

func (w *world) pollStandby(ctx context.Context, within time.Duration, met func(says string) bool) error {
	if w.standby == nil {
		return errNoStandby
	}
	var says string
	var failed error
	return w.poll(ctx, within, func() bool {
		says, failed = w.stack.Ready(ctx, w.standby)
		return met(says)
	}, func() error { return errors.Join(failed, fmt.Errorf("/readyz?verbose of the standby: %q", says)) })
}
