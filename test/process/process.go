// Package process runs programs that never outlive the process that started
// them, whatever ends it.
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
	// reaping bounds the wait for a killed program. Only one that hangs in the
	// kernel takes longer than milliseconds.
	reaping = 10 * time.Second

	tailLines = 15
	tailBytes = 16 << 10
)

// A Process is a running program. Its output goes to a log file in the folder
// that it runs in.
type Process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{} // closed once the program has ended and was reaped
	result error         // error of Wait; read it after exited is closed
}

// Start starts a program in a folder, with the given environment or, if that is
// nil, ours. The name is that of its log file and in errors. The caller must
// call Stop.
func Start(dir string, env []string, name, path string, args ...string) (*Process, error) {
	p := newProcess(dir, env, name, path, args)
	p.cmd.Dir = dir
	p.cmd.SysProcAttr = childAttributes()
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

// StartIn starts a program with a folder as its root, as a container has one: the path is
// within, and the program works there. Only the log file is in dir. It takes Linux, and either
// root or the right to make user namespaces; the error is one of the system where that is
// missing.
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

// start starts the program with its output in the log file.
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

// run starts the program and waits for its end on one thread. The kernel kills
// the child when the *thread* that forked it dies (Pdeathsig), not only when
// the process does, and the runtime ends threads as it likes. A goroutine that
// is locked to its thread keeps it alive for as long as the child lives.
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

// Stop sends SIGTERM, after the grace SIGKILL, and returns when the program is
// gone. It may be called again.
func (p *Process) Stop(grace time.Duration) error {
	// An error means that it has ended already, which the wait finds out too.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if p.gone(grace) {
		return nil
	}
	_ = p.cmd.Process.Kill()
	if p.gone(reaping) {
		return nil
	}
	return fmt.Errorf("%s, process %d: still there %s after it was killed", p.name, p.cmd.Process.Pid, reaping)
}

// Exited is closed when the program has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns nil if the program has ended with status 0. It is to be called
// after Exited is closed.
func (p *Process) Err() error { return p.result }

// PID returns the process ID, which means nothing once Exited is closed.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns the path of the log file.
func (p *Process) Log() string { return p.log }

// gone waits for the end of the program, but not for longer than that.
func (p *Process) gone(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// Failure says how a program has ended that nobody stopped, with the end of its log.
func (p *Process) Failure() error {
	if p.result != nil {
		return fmt.Errorf("%s has ended on its own: %w%s", p.name, p.result, p.LastWords())
	}
	return fmt.Errorf("%s has ended on its own, without an error%s", p.name, p.LastWords())
}

// LastWords is the end of the log, as the tail of an error message.
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
