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
	errNoDaemon  = errors.New("no daemon is running")
	errNoStandby = errors.New("no standby is running")
)

func daemonCommands() []command {
	return []command{
		{"daemon start [FLAG…]", "starts the daemon, with these flags after the default flags", func(a *arguments) action {
			flags := a.rest()
			return func(_ context.Context, w *world) error {
				if w.daemon != nil {
					return errors.New("a daemon is already running")
				}
				w.flags = flags
				return w.start()
			}
		}},
		{"daemon stop", "sends SIGTERM to the daemon and checks how it exits: see \"Automatic checks\" in docs/how-to/write-a-scenario.md", func(*arguments) action {
			return func(ctx context.Context, w *world) error { return w.stop(ctx) }
		}},
		{"daemon restart", "runs `daemon stop`, then `daemon start` with the same flags", func(*arguments) action {
			return func(ctx context.Context, w *world) error {
				if err := w.stop(ctx); err != nil {
					return err
				}
				return w.start()
			}
		}},
		{"daemon kill", "sends SIGKILL to the daemon; later checks ignore the sessions that it leaves open", func(*arguments) action {
			return func(_ context.Context, w *world) error { return w.kill() }
		}},
		{"daemon refuses TEXT", "starts the daemon and checks that it exits on its own, with a nonzero status and TEXT in its log", rejectStart},
		{"daemon healthy [within DURATION]", "waits until /healthz reports that the daemon is healthy", func(a *arguments) action {
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
		{"daemon ready says LINE [within DURATION]", "waits until /readyz?verbose contains this line", func(a *arguments) action {
			line := a.word("LINE")
			timeout := a.timeout()
			return func(ctx context.Context, w *world) error {
				if w.daemon == nil {
					return errNoDaemon
				}
				return w.awaitReady(ctx, w.daemon, timeout, func(lines []string) bool { return slices.Contains(lines, line) })
			}
		}},
		{"standby start [FLAG…]", "starts a second daemon with the same configuration, with these flags after the default flags, and waits until it takes part in the leader election; both daemons need `--leader-elect=true`", func(a *arguments) action {
			flags := a.rest()
			return func(ctx context.Context, w *world) error { return w.startStandby(ctx, flags) }
		}},
		{"standby waits [within DURATION]", "checks that the standby is not the leader", onStandby(func(_ *world, lines []string) bool {
			return strings.HasPrefix(lines[0], standbyPrefix)
		})},
		{"standby leads [within DURATION]", "waits until the standby is the leader, after the previous daemon has exited; from then on, the standby is the daemon", onStandby(func(w *world, lines []string) bool {
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
			return errors.Join(fmt.Errorf("the daemon is still running after %s", defaultTimeout), d.Kill())
		}
		if _, err := d.Stop(); err == nil {
			return errors.New("the daemon exited with status 0")
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
		return errors.New("a standby is already running")
	}
	var err error
	w.standby, err = w.stack.StartDaemon(w.binary, w.mount.Path(configFile), append([]string{"--v=10"}, flags...)...)
	if err != nil {
		return err
	}
	w.standbyFlags = flags
	return w.poll(ctx, defaultTimeout, func() bool { return strings.Contains(w.standby.Log(), electionMessage) },
		func() error { return fmt.Errorf("the standby's log does not contain %q", electionMessage) })
}

func (w *world) promote() {
	w.daemon = w.standby
	w.last = w.standby
	w.flags = w.standbyFlags
	w.standby = nil
	w.ownLog = w.daemon.OwnLog()
}
