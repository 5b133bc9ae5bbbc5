package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/test/stack"
)

var (
	errNoDaemon  = errors.New("no daemon runs")
	errNoStandby = errors.New("no standby runs")
)

func daemonCommands() []command {
	return []command{
		{"daemon start [FLAG…]", "starts the daemon, with flags behind the usual ones", func(a *arguments) action {
			flags := a.rest()
			return func(_ context.Context, w *world) error {
				if w.daemon != nil {
					return errors.New("a daemon runs already")
				}
				w.flags = flags
				return w.start()
			}
		}},
		{"daemon stop", "sends SIGTERM and checks that it ends as it should: see [what is always checked](#what-is-always-checked)", func(*arguments) action {
			return func(ctx context.Context, w *world) error { return w.stop(ctx) }
		}},
		{"daemon restart", "is `stop` and `start` with the same flags", func(*arguments) action {
			return func(ctx context.Context, w *world) error {
				if err := w.stop(ctx); err != nil {
					return err
				}
				return w.start()
			}
		}},
		{"daemon kill", "sends SIGKILL; the sessions that it leaves behind are not held against it", func(*arguments) action {
			return func(_ context.Context, w *world) error { return w.kill() }
		}},
		{"daemon refuses TEXT", "starts the daemon, which has to end on its own, with a status that is not 0 and TEXT in its log", rejectStart},
		{"daemon healthy [within DURATION]", "waits until /healthz says so", func(a *arguments) action {
			timeout := a.timeout()
			return func(ctx context.Context, w *world) error {
				if w.daemon == nil {
					return errNoDaemon
				}
				var last error
				return w.poll(ctx, timeout, func() bool {
					last = w.daemon.Healthy(ctx)
					return last == nil
				}, func() error { return fmt.Errorf("/healthz: %w", last) })
			}
		}},
		{"daemon ready says LINE [within DURATION]", "waits until /readyz?verbose has that line", func(a *arguments) action {
			line := a.word("LINE")
			timeout := a.timeout()
			return func(ctx context.Context, w *world) error {
				if w.daemon == nil {
					return errNoDaemon
				}
				return w.awaitReady(ctx, w.daemon, timeout, func(lines []string) bool { return slices.Contains(lines, line) })
			}
		}},
		{"standby start [FLAG…]", "starts a second daemon with the same configuration, with flags behind the usual ones, and waits until its log says that it waits to lead; both need `--leader-elect=true`", func(a *arguments) action {
			flags := a.rest()
			return func(ctx context.Context, w *world) error { return w.startStandby(ctx, flags) }
		}},
		{"standby waits [within DURATION]", "checks that the standby does not lead", onStandby(func(_ *world, lines []string) bool {
			return strings.HasPrefix(lines[0], standbyPrefix)
		})},
		{"standby leads [within DURATION]", "waits until the standby leads, from now on, when the daemon before it has ended; from then on it is the daemon", onStandby(func(w *world, lines []string) bool {
			leads := w.daemon == nil && lines[0] != "" && !strings.HasPrefix(lines[0], standbyPrefix)
			if leads {
				w.promote()
			}
			return leads
		})},
	}
}

func onStandby(met func(w *world, lines []string) bool) func(*arguments) action {
	return func(a *arguments) action {
		timeout := a.timeout()
		return func(ctx context.Context, w *world) error {
			if w.standby == nil {
				return errNoStandby
			}
			return w.awaitReady(ctx, w.standby, timeout, func(lines []string) bool { return met(w, lines) })
		}
	}
}

// awaitReady waits until the lines of a daemon's /readyz?verbose, at least one, meet a condition.
func (w *world) awaitReady(ctx context.Context, d *stack.Daemon, timeout time.Duration, met func(lines []string) bool) error {
	var says string
	var failed error
	return w.poll(ctx, timeout, func() bool {
		says, failed = w.stack.Ready(ctx, d)
		return met(strings.Split(strings.TrimSpace(says), "\n"))
	}, func() error { return errors.Join(failed, fmt.Errorf("/readyz?verbose: %q", says)) })
}

func rejectStart(a *arguments) action {
	text := a.word("TEXT")
	return func(ctx context.Context, w *world) error {
		if err := w.start(); err != nil {
			return err
		}
		d := w.daemon
		w.daemon = nil
		ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
		defer cancel()
		select {
		case <-d.Exited():
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("runs after %s", defaultTimeout), d.Kill())
		}
		if _, err := d.Stop(); err == nil {
			return errors.New("it ended with status 0")
		}
		said, err := w.ownLogText()
		if err == nil && !strings.Contains(said, text) {
			err = fmt.Errorf("the log does not contain %q", text)
		}
		return errors.Join(err, w.audit(d))
	}
}

const (
	// standbyPrefix is the first line of a standby's /readyz?verbose.
	standbyPrefix = "ok: standing by"
	// electionMessage is logged by a standby when it takes part in the leader election.
	electionMessage = "Waiting to lead"
)

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
	return w.poll(ctx, defaultTimeout, func() bool { return strings.Contains(w.standby.Log(), electionMessage) },
		func() error { return fmt.Errorf("the log of the standby does not contain %q", electionMessage) })
}

func (w *world) promote() {
	w.daemon = w.standby
	w.last = w.standby
	w.flags = w.standbyFlags
	w.standby = nil
	w.ownLog = w.daemon.OwnLog()
}
