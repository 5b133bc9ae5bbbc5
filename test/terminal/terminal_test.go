package terminal

import (
	"errors"
	"os/exec"
	"runtime"
	"testing"
)

// TestRun: a command has a terminal of the width, and its status is that of the command.
func TestRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("on Linux only")
	}
	out, err := Run(exec.CommandContext(t.Context(), "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; exit 3"), 77)
	failed, ok := errors.AsType[*exec.ExitError](err)
	if !ok || failed.ExitCode() != 3 || string(out) != "50 77\r\n" {
		t.Errorf("%q, %v", out, err)
	}
}
