package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// binaryVariable names the path of the daemon to test, instead of building it from this module.
const binaryVariable = "VZONES_DAEMON"

// Binary returns the path of the daemon to test: the path in the environment, or a daemon built from a module into a
// folder, with the race detector if the caller uses it. The cached result of the calling test then depends on the
// sources.
func Binary(ctx context.Context, module, dir string) (string, error) {
	if binary := os.Getenv(binaryVariable); binary != "" {
		return binary, nil
	}
	if err := DependOnSources(module); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "vsphere-cloud-controller-manager")
	args := []string{"build", "-o", path}
	if Race {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(ctx, "go", append(args, "vzones/cmd/vsphere-cloud-controller-manager")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the daemon: %w\n%s", err, out)
	}
	return path, nil
}

// A Pool provides stacks to parallel tests. Stacks are started on demand and used by one test at a time, because a daemon
// handles all Nodes.
type Pool struct {
	// NodeLifecycle is that option of the stacks. Set it before the first Acquire.
	NodeLifecycle bool

	module string
	// free contains the unused stacks. Acquire receives from it, Release sends to it, and it is
	// never closed.
	free chan *Stack

	mu      sync.Mutex
	dir     string
	binary  string
	started []*Stack
}

// NewPool returns a pool with at most size stacks for the daemon of a module.
func NewPool(module string, size int) *Pool {
	return &Pool{module: module, free: make(chan *Stack, size)}
}

// Acquire waits for a free stack and returns it with the path of the daemon. The stack may still have the previous
// test's fleet. The caller must call Release.
func (p *Pool) Acquire(ctx context.Context) (*Stack, string, error) {
	select {
	case s := <-p.free:
		return s, p.binary, nil
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.started) == cap(p.free) {
		return <-p.free, p.binary, nil
	}
	if err := p.build(ctx); err != nil {
		return nil, "", err
	}
	s, err := Start(context.WithoutCancel(ctx), Options{Fleet: "vcenters: [{name: none}]", NodeLifecycle: p.NodeLifecycle})
	if err != nil {
		return nil, "", err
	}
	p.started = append(p.started, s)
	return s, p.binary, nil
}

// build builds the daemon once. The caller holds the lock.
func (p *Pool) build(ctx context.Context) (err error) {
	if p.binary != "" {
		return nil
	}
	if p.dir == "" {
		if p.dir, err = os.MkdirTemp("", "vzones-daemon-"); err != nil {
			return err
		}
	}
	p.binary, err = Binary(ctx, p.module, p.dir)
	return err
}

// Release returns a stack to the pool.
func (p *Pool) Release(s *Stack) { p.free <- s }

// Stop stops all stacks.
func (p *Pool) Stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{os.RemoveAll(p.dir)}
	for _, s := range p.started {
		errs = append(errs, s.Stop())
	}
	return errors.Join(errs...)
}

// DependOnSources makes the cached result of the calling test depend on the daemon's sources. go test does not see the
// files that go build reads on the test's behalf.
func DependOnSources(module string) error {
	for _, dir := range []string{"cmd", "config", "manifests", "provider", "topology", "vcenter"} {
		// Walking opens each folder, which stands for its files.
		err := filepath.WalkDir(filepath.Join(module, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
}
