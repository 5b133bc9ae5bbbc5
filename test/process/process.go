// Package process runs programs that never outlive the process that started them, even if it is killed.
package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// reaping bounds the wait for a killed program, which takes milliseconds unless it is blocked in
	// the kernel.
	reaping = 10 * time.Second

	tailLines = 15
	tailBytes = 16 << 10
)

// A Process is a running program. Its output goes to a log file in its working folder.
type Process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{} // closed after the program has ended and was reaped
	result error         // error of Wait; valid after exited is closed
}

// Start starts a program in a folder. With a nil environment it inherits this process's. The name is used for the
// log file and in errors. The caller must call Stop.
func Start(dir string, env []string, name, path string, args ...string) (*Process, error) {
	p := newProcess(dir, env, name, path, args)
	p.cmd.Dir = dir
	p.cmd.SysProcAttr = childAttributes()
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

// StartIn starts a program with root as its root folder, like a container. The path is relative to root; only the
// log file is in dir. It requires Linux, and root or permission to create user namespaces; without them it
// returns the system's error.
func StartIn(root, dir string, env []string, name, path string, args ...string) (*Process, error) {
	p := newProcess(dir, env, name, path, args)
	p.cmd.Dir = "/"
	attributes, err := containedAttributes(root)
	if err != nil {
		return nil, err
	}
	p.cmd.SysProcAttr = attributes
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

func newProcess(dir string, env []string, name, path string, args []string) *Process {
	p := &Process{
		name:   name,
		log:    filepath.Join(dir, name+".log"),
		cmd:    exec.Command(path, args...),
		exited: make(chan struct{}),
	}
	p.cmd.Env = env
	return p
}

func (p *Process) start() error {
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd.Stdout = log
	p.cmd.Stderr = log

	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	return nil
}

// run starts the program and waits for its end on one locked thread. Pdeathsig kills the child when the *thread*
// that forked it ends, and the runtime may end an unlocked thread at any time.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.result = p.cmd.Wait()
	close(p.exited)
}

// Stop sends SIGTERM and, after the grace period, SIGKILL. It returns when the program has ended, and may be called
// repeatedly.
func (p *Process) Stop(grace time.Duration) error {
	// An error means that the process has ended, which gone detects.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if p.waitExit(grace) {
		return nil
	}
	_ = p.cmd.Process.Kill()
	if p.waitExit(reaping) {
		return nil
	}
	return fmt.Errorf("%s, process %d: still there %s after it was killed", p.name, p.cmd.Process.Pid, reaping)
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns nil if the program exited with status 0. Call it after Exited is closed.
func (p *Process) Err() error { return p.result }

// PID returns the process ID, which is invalid after Exited is closed.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns the path of the log file.
func (p *Process) Log() string { return p.log }

func (p *Process) waitExit(timeout time.Duration) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// Failure returns an error for a program that ended unexpectedly, with the end of its log.
func (p *Process) Failure() error {
	if p.result != nil {
		return fmt.Errorf("%s has ended on its own: %w%s", p.name, p.result, p.LastWords())
	}
	return fmt.Errorf("%s has ended on its own, without an error%s", p.name, p.LastWords())
}

// LastWords returns the end of the log as the end of an error message.
func (p *Process) LastWords() string {
	tail, err := Tail(p.log)
	switch {
	case err != nil:
		return "; its log: " + err.Error()
	case tail == "":
		return "; its log is empty"
	}
	return "; the end of its log:\n" + tail
}

// Tail returns the last lines of a file.
func Tail(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	start := max(0, size-tailBytes)
	content, err := io.ReadAll(io.NewSectionReader(file, start, size-start))
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), nil
}
