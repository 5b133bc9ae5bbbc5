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

	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/test/process"
)

const (
	// pollInterval is small against what the fastest program needs to start.
	pollInterval = 50 * time.Millisecond
	// probeTimeout bounds one question for readiness.
	probeTimeout = 5 * time.Second
	// readyTimeout bounds the wait for each program to be ready, on a machine that is busy.
	readyTimeout = 3 * time.Minute
)

// launch starts a program and returns the port that it serves on when it is ready.
func (c *Cluster) launch(ctx context.Context, name string, args func(port int) []string, ready func(ctx context.Context, port int) error) (port int, err error) {
	found, err := Find(name)
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", name, err)
	}
	if port, err = process.FreePort(); err != nil {
		return 0, err
	}
	// etcd would take such settings for its flags.
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "ETCD_") })
	p, err := process.Start(c.dir, env, name, found[name], append(args(port), c.options.Flags[name]...)...)
	if err != nil {
		return 0, err
	}
	c.processes = append(c.processes, p)
	if err := c.await(ctx, readyTimeout, func(ctx context.Context) error { return ready(ctx, port) }); err != nil {
		// The error of a program that exited contains the end of its log already.
		if c.Err() == nil {
			err = fmt.Errorf("%w%s", err, p.LastWords())
		}
		return 0, fmt.Errorf("starting %s: %w", name, err)
	}
	return port, nil
}

// await asks until the answer is nil, the time is over, the context ends, or a program does.
func (c *Cluster) await(ctx context.Context, within time.Duration, ask func(context.Context) error) error {
	last := errors.New("none")
	err := wait.PollUntilContextTimeout(ctx, pollInterval, within, true, func(ctx context.Context) (bool, error) {
		if err := c.Err(); err != nil {
			return false, err
		}
		answer := ask(ctx)
		if answer != nil && ctx.Err() == nil { // once the context has ended, the answer only says so
			last = answer
		}
		return answer == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w (last answer: %w)", errors.Join(err, context.Cause(ctx)), last)
	}
	return err
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
	if err != nil || response.StatusCode == http.StatusOK {
		return err
	}
	var unmet []string
	for line := range strings.Lines(string(body)) {
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			unmet = append(unmet, strings.TrimSpace(check))
		}
	}
	return fmt.Errorf("%s: %s", response.Status, strings.Join(unmet, ", "))
}
