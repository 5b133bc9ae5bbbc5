package process

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
)

// TestMain makes the test binary play the children.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// leakFree fails the test if it leaves a goroutine. Call it first, so that its check runs last.
func leakFree(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
}

// Roles of the test binary as a child.
const (
	roleVariable = "VZONES_TEST_ROLE"
	roleSleep    = "sleep"    // runs until a signal ends it
	roleStubborn = "stubborn" // like sleep, but ignores SIGTERM
	roleParent   = "parent"   // starts a child and prints its process ID
)

func play(role string) int {
	switch role {
	case roleStubborn:
		signal.Ignore(syscall.SIGTERM)
	case roleParent:
		os.Setenv(roleVariable, roleSleep)
		p, err := Start(".", nil, "child", os.Args[0])
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Println(p.cmd.Process.Pid)
	}
	fmt.Println("up")
	<-time.After(time.Minute)
	return 0
}

// startSelf runs the test binary in a role and returns when it is ready or has ended.
func startSelf(t *testing.T, role string) *Process {
	t.Helper()
	t.Setenv(roleVariable, role)
	p, err := Start(t.TempDir(), nil, "self", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(0); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the child to be up", func() bool {
		log, err := Tail(p.log)
		if err != nil {
			t.Fatal(err)
		}
		return p.waitExit(0) || strings.Contains(log, "up")
	})
	return p
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestStopEndsAProcess(t *testing.T) {
	leakFree(t)
	for role, grace := range map[string]time.Duration{roleSleep: time.Minute, roleStubborn: 200 * time.Millisecond} {
		p := startSelf(t, role)
		if err := p.Stop(grace); err != nil {
			t.Errorf("stopping a process with the role %s: %v", role, err)
		}
		if alive(p.cmd.Process.Pid) {
			t.Errorf("%s: the process lives after stop", role)
		}
		want := map[string]string{roleSleep: "terminated", roleStubborn: "killed"}[role]
		if got := p.Failure().Error(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", role, got, want)
		}
	}
}

// A child must not end with the thread that started it. Two children are needed because the runtime never ends the
// process's first thread.
func TestAChildSurvivesTheThreadThatAskedForIt(t *testing.T) {
	leakFree(t)
	t.Setenv(roleVariable, roleSleep)
	for range 2 {
		dir := t.TempDir()
		var p *Process
		var err error
		var asked sync.WaitGroup
		asked.Go(func() {
			// A locked thread ends with its goroutine.
			runtime.LockOSThread()
			p, err = Start(dir, nil, "self", os.Args[0])
		})
		asked.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if p.waitExit(500 * time.Millisecond) {
			t.Errorf("the child ended: %v", p.Failure())
		}
		if err := p.Stop(0); err != nil {
			t.Error(err)
		}
	}
}

func TestAChildDiesWithItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("left out: only Linux can do it")
	}
	leakFree(t)
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Dir = t.TempDir()
	parent.Env = append(os.Environ(), roleVariable+"="+roleParent)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(child, syscall.SIGKILL) }() // in case of a failure
	if !alive(child) {
		t.Fatal("the child is not there")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // "signal: killed"
	eventually(t, fmt.Sprintf("the end of process %d", child), func() bool { return !running(child) })
}

func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) { return happened(), nil })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

// running reports whether a process runs. A zombie does not: the init process of a container may not reap orphans.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
