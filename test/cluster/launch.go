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
	// pollInterval is short compared with the start of the fastest program.
	pollInterval = 50 * time.Millisecond
	// probeTimeout bounds one readiness probe.
	probeTimeout = 5 * time.Second
	// readyTimeout bounds the start of one program on a busy host.
	readyTimeout = 3 * time.Minute
)

// launch starts a program, waits until it is ready, and returns its port.
func (c *Cluster) launch(ctx context.Context, name string, args func(port int) []string, ready func(ctx context.Context, port int) error) (port int, err error) {
	found, err := Find(name)
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", name, err)
	}
	if port, err = process.FreePort(); err != nil {
		return 0, err
	}
	// etcd reads flags from these variables.
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "ETCD_") })
	p, err := process.Start(c.dir, env, name, found[name], append(args(port), c.options.Flags[name]...)...)
	if err != nil {
		return 0, err
	}
	c.processes = append(c.processes, p)
	if err := c.await(ctx, readyTimeout, func(ctx context.Context) error { return ready(ctx, port) }); err != nil {
		// The error of an exited program already contains the end of its log.
		if c.Err() == nil {
			err = fmt.Errorf("%w%s", err, p.LastWords())
		}
		return 0, fmt.Errorf("starting %s: %w", name, err)
	}
	return port, nil
}

// await polls ask until it returns nil, the time is over, the context is done, or a program exits.
func (c *Cluster) await(ctx context.Context, timeout time.Duration, ask func(context.Context) error) error {
	last := errors.New("none")
	err := wait.PollUntilContextTimeout(ctx, pollInterval, timeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Err(); err != nil {
			return false, err
		}
		answer := ask(ctx)
		if answer != nil && ctx.Err() == nil { // otherwise the error is just the end of the context
			last = answer
		}
		return answer == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w (last answer: %w)", errors.Join(err, context.Cause(ctx)), last)
	}
	return err
}

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
