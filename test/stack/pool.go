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

// binaryVariable names the daemon to test, instead of one that is built from this module.
const binaryVariable = "VZONES_DAEMON"

// Binary returns the path of the daemon to test: the one that the environment names, or one
// that it builds into a folder from the module at a path, with the race detector where the caller
// has it. Then the result of the calling test depends on the sources.
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

// A Pool has stacks for tests that run in parallel. A stack is used by one test at a time,
// since a daemon handles all Nodes that there are. Stacks are started when they are needed.
type Pool struct {
	module string
	// free has the stacks that nobody uses. Acquire receives from it, Release sends to it, and
	// it is never closed.
	free chan *Stack

	mu      sync.Mutex
	dir     string
	binary  string
	started []*Stack
}

// NewPool returns a pool of a number of stacks at most, for the daemon of the module at a path.
func NewPool(module string, size int) *Pool {
	return &Pool{module: module, free: make(chan *Stack, size)}
}

// Acquire returns a stack with an empty fleet or that of the test before, and the path of the
// daemon. It waits until a stack is free. The caller must call Release.
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
	s, err := Start(context.WithoutCancel(ctx), Options{Fleet: "vcenters: [{name: none}]"})
	if err != nil {
		return nil, "", err
	}
	p.started = append(p.started, s)
	return s, p.binary, nil
}

// build builds the daemon, once. The lock is held.
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

// Release gives a stack back.
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

// DependOnSources makes the result of the calling test depend on the sources of
// the daemon in a module. go test takes a result from its cache as long as
// nothing has changed that the test was built from or has opened; what go build
// reads on the test's behalf is neither.
func DependOnSources(module string) error {
	for _, dir := range []string{"cmd", "config", "manifests", "provider", "topology", "vcenter"} {
		// Walking opens each folder, which stands for the files in it.
		err := filepath.WalkDir(filepath.Join(module, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			return err
		}
	}
	return nil
}
