package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

var errNoDaemon = errors.New("no daemon runs")

// daemonCommands start and end the daemon.
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
			return func(_ context.Context, w *world) error { return w.stop() }
		}},
		{"daemon restart", "is `stop` and `start` with the same flags", func(*arguments) action {
			return func(_ context.Context, w *world) error {
				if err := w.stop(); err != nil {
					return err
				}
				return w.start()
			}
		}},
		{"daemon kill", "sends SIGKILL; the sessions that it leaves behind are not held against it", func(*arguments) action {
			return func(_ context.Context, w *world) error { return w.kill() }
		}},
		{"daemon refuses TEXT", "starts the daemon, which has to end on its own, with a status that is not 0 and TEXT in its log", refuses},
		{"daemon healthy [within DURATION]", "waits until /healthz says so", func(a *arguments) action {
			within := a.within()
			a.p.asserts = true
			return func(ctx context.Context, w *world) error {
				if w.daemon == nil {
					return errNoDaemon
				}
				var last error
				return w.poll(ctx, within, func() bool {
					last = w.daemon.Healthy(ctx)
					return last == nil
				}, func() error { return fmt.Errorf("/healthz: %w", last) })
			}
		}},
		{"daemon ready says LINE [within DURATION]", "waits until /readyz?verbose has that line", readySays},
	}
}

// readySays waits for a line of /readyz?verbose.
func readySays(a *arguments) action {
	line, within := a.word("LINE"), a.within()
	a.p.asserts = true
	return func(ctx context.Context, w *world) error {
		if w.daemon == nil {
			return errNoDaemon
		}
		var says string
		var failed error
		return w.poll(ctx, within, func() bool {
			says, failed = w.stack.Ready(ctx, w.daemon)
			return slices.Contains(strings.Split(says, "\n"), line)
		}, func() error { return errors.Join(failed, fmt.Errorf("/readyz?verbose: %q", says)) })
	}
}

func refuses(a *arguments) action {
	text := a.word("TEXT")
	a.p.asserts = true
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
		said, err := w.said()
		if err == nil && !strings.Contains(said, text) {
			err = fmt.Errorf("the log does not contain %q", text)
		}
		return errors.Join(err, w.audit(d))
	}
}
