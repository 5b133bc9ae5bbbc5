package cli

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"vzones/test/terminal"
)

// slowVariable makes the test a command that takes so long, with progress.
const slowVariable = "VZONES_TEST_SLOW"

func TestMain(m *testing.M) {
	takes, err := time.ParseDuration(os.Getenv(slowVariable))
	if err != nil {
		os.Exit(m.Run())
	}
	t := &Tool{Stdout: os.Stdout, Stderr: os.Stderr}
	end := t.Progress("reading 3 vCenters")
	time.Sleep(takes)
	end()
	end() // as a deferred call does after one that was in time
	_, _ = os.Stdout.WriteString("the answer\n")
}

// TestProgress: what takes longer than a second is named on a terminal until the answer comes, and
// nowhere else.
func TestProgress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("terminals are made on Linux")
	}
	slow := func(takes string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), slowVariable+"="+takes)
		return cmd
	}
	const line, erased = "reading 3 vCenters …", "\r\x1b[K"
	out, err := terminal.Run(slow("3s"), 80)
	if got := strings.ReplaceAll(string(out), "\r\n", "\n"); err != nil || got != line+erased+"the answer\n" {
		t.Errorf("a terminal got %q: %v", got, err)
	}
	if out, err := terminal.Run(slow("0s"), 80); err != nil || strings.Contains(string(out), line) {
		t.Errorf("something quick is shown: %q, %v", out, err)
	}
	if out, err := slow("3s").CombinedOutput(); err != nil || string(out) != "the answer\n" {
		t.Errorf("a pipe got %q: %v", out, err)
	}
}
