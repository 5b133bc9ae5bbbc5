package cli

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"vzones/test/fixture"
)

// slowVariable turns the test binary into a command that takes this long, with progress.
const slowVariable = "VZONES_TEST_SLOW"

// tableVariable turns the test binary into a command that prints a table with a red row.
const tableVariable = "VZONES_TEST_TABLE"

func TestMain(m *testing.M) {
	t := &Tool{Stdout: os.Stdout, Stderr: os.Stderr}
	if os.Getenv(tableVariable) != "" {
		list := &List{Columns: []string{"NODE", "ZONE"}, Rows: []Row{{Cells: []string{"node-1", "a"}}, {Cells: []string{"n", "b"}, Color: Red}}}
		if err := t.Print(Table, list); err != nil {
			panic(err)
		}
		return
	}
	takes, err := time.ParseDuration(os.Getenv(slowVariable))
	if err != nil {
		os.Exit(m.Run())
	}
	end := t.Progress("reading 3 vCenters")
	time.Sleep(takes)
	end()
	_, _ = os.Stdout.WriteString("the answer\n")
}

func TestProgress(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("terminals are made on Linux")
	}
	slow := func(takes string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), slowVariable+"="+takes)
		return cmd
	}
	const line = "reading 3 vCenters …\n"
	out, err := fixture.RunInTerminal(slow("5s"), 80)
	if got := strings.ReplaceAll(string(out), "\r\n", "\n"); err != nil || got != line+"the answer\n" {
		t.Errorf("a terminal got %q: %v", got, err)
	}
	if out, err := slow("3s").CombinedOutput(); err != nil || string(out) != "the answer\n" {
		t.Errorf("a pipe got %q: %v", out, err)
	}
}

// Colors appear only on a terminal without NO_COLOR and in lines that have one, and do not affect the alignment.
func TestColors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("terminals are made on Linux")
	}
	table := func(variables ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), tableVariable+"=1", "TERM=xterm", "NO_COLOR=")
		cmd.Env = append(cmd.Env, variables...)
		return cmd
	}
	const plain = "NODE     ZONE\nnode-1   a\nn        b\n"
	const colored = "NODE     ZONE\nnode-1   a\n\x1b[31mn        b\x1b[0m\n"
	for variable, want := range map[string]string{"TERM=xterm": colored, "NO_COLOR=1": plain, "TERM=dumb": plain} {
		out, err := fixture.RunInTerminal(table(variable), 80)
		if got := strings.ReplaceAll(string(out), "\r\n", "\n"); err != nil || got != want {
			t.Errorf("%s: a terminal got %q and the error %v, want %q", variable, got, err, want)
		}
	}
	if out, err := table().CombinedOutput(); err != nil || string(out) != plain {
		t.Errorf("a pipe got %q: %v", out, err)
	}
}
