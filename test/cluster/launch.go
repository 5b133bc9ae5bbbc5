package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"vzones/test/process"
)

const (
	// pollInterval is small against what the fastest program needs to start.
	pollInterval = 50 * time.Millisecond
	// probeTimeout bounds one question for readiness.
	probeTimeout = 5 * time.Second
)

// environment is ours without the settings that etcd would take for its flags.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "ETCD_") })
}

// A daemon is a program of the control plane: how it is run, and how to ask
// whether it is ready.
type daemon struct {
	name  string
	args  func(port int) []string
	ready func(ctx context.Context, port int) error
}

// launch starts a program and returns the port that it serves on when it is
// ready. If that port was taken meanwhile, it is tried again with another.
func (c *Cluster) launch(ctx context.Context, d daemon) (port int, err error) {
	if err := c.enter(d.name); err != nil {
		return 0, err
	}
	defer func() { c.leave(d.name, err) }()
	path, err := c.binary(d.name)
	if err != nil {
		return 0, err
	}
	for attempt := 1; ; attempt++ {
		port, err := c.options.freePort()
		if err != nil {
			return 0, err
		}
		p, err := process.Start(c.dir, environment(), d.name, path, append(d.args(port), c.options.Flags[d.name]...)...)
		if err != nil {
			return 0, err
		}
		err = c.awaitReady(ctx, p, func(ctx context.Context) error { return d.ready(ctx, port) })
		if err == nil {
			c.watch(p)
			return port, nil
		}
		again := lostPort(p) && attempt < portAttempts
		if err := errors.Join(err, p.Stop(0)); !again {
			return 0, err
		}
	}
}

// enter begins the launch of a program, which Stop waits for; leave ends it.
func (c *Cluster) enter(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isStopping() {
		return fmt.Errorf("starting %s: %w", name, errStopped)
	}
	if c.names[name] {
		return fmt.Errorf("starting %s: it is running already", name)
	}
	c.names[name] = true
	c.launches.Add(1)
	return nil
}

func (c *Cluster) leave(name string, err error) {
	if err != nil {
		c.mu.Lock()
		delete(c.names, name)
		c.mu.Unlock()
	}
	c.launches.Done()
}

func (c *Cluster) isStopping() bool {
	select {
	case <-c.stopping:
		return true
	default:
		return false
	}
}

// watch makes a running program one that Stop ends, and whose end without Stop
// is reported.
func (c *Cluster) watch(p *process.Process) {
	c.mu.Lock()
	c.processes = append(c.processes, p)
	c.mu.Unlock()
	c.tasks.Go(func() {
		<-p.Exited()
		if c.isStopping() {
			return
		}
		failure := p.Failure()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failure == nil {
			c.failure = failure
			close(c.failed)
		}
	})
}

// awaitReady returns nil once the program is ready, and an error as soon as
// that cannot be any more.
func (c *Cluster) awaitReady(ctx context.Context, p *process.Process, ready func(context.Context) error) error {
	ctx, cancel := c.within(ctx, p)
	defer cancel()
	if err := poll(ctx, ready); err != nil {
		return fmt.Errorf("starting %s: %w%s", p.Name(), err, p.LastWords())
	}
	return nil
}

// within returns a context that ends after the time that the options allow, or
// with the cluster, or with a process that may be nil. Its cause says which. So
// even a question that hangs ends with the program that it was put to.
func (c *Cluster) within(ctx context.Context, p *process.Process) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.options.ReadyTimeout,
		fmt.Errorf("not ready after %s", c.options.ReadyTimeout))
	ctx, end := context.WithCancelCause(ctx)
	var exited <-chan struct{}
	if p != nil {
		exited = p.Exited()
	}
	go func() {
		select {
		case <-exited:
			end(p.Ended())
		case <-c.failed:
			end(c.Err())
		case <-c.stopping:
			end(errStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// poll asks until the answer is nil or the context ends.
func poll(ctx context.Context, ask func(context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	last := errors.New("none")
	for {
		answer := ask(ctx)
		if answer == nil {
			return nil
		}
		// Once the context has ended, the answer only says so.
		if ctx.Err() != nil {
			return fmt.Errorf("%w (last answer: %w)", context.Cause(ctx), last)
		}
		last = answer
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// healthy asks a server on the loopback whether it is well.
func healthy(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return err
	}
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("%s: %s", response.Status, strings.Join(unmet(string(body)), ", "))
}

// unmet returns the checks that an answer of /readyz lists as failed.
func unmet(body string) []string {
	var checks []string
	for line := range strings.Lines(body) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			checks = append(checks, strings.TrimSpace(check))
		}
	}
	return checks
}
