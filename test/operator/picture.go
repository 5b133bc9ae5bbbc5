package operator

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/terminal"
)

// picture runs a command in a terminal, and compares what it has shown with a picture of the
// documentation.
func picture(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg {
		ts.Fatalf("usage: picture FILE COLUMNS COMMAND…")
	}
	columns, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	line := strings.Join(args[2:], " ")
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"TERM=xterm", "PATH=" + ts.Getenv("PATH"), "HOME=" + cmd.Dir, "KUBECONFIG=" + ts.Getenv("KUBECONFIG")}
	out, err := terminal.Run(cmd, columns)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == 1 {
		err = nil // findings
	}
	if err != nil {
		ts.Fatalf("%s: %v\n%s", line, err, out)
	}
	out = bytes.ReplaceAll(out, []byte(cmd.Dir+"/"), nil)
	for _, d := range differences {
		out = d.pattern.ReplaceAll(out, []byte(d.instead))
	}
	screen, err := terminal.Parse(out)
	ts.Check(err)
	of(ts).tool.current(ts, args[0], terminal.SVG(line, screen))
}

// published compares a file that a command has written with one of the documentation.
func published(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: published FILE DOCUMENT")
	}
	of(ts).tool.current(ts, args[1], []byte(ts.ReadFile(args[0])))
}

// current checks that a file of the documentation has a content, or writes it.
func (t *Scripts) current(ts *testscript.TestScript, file string, want []byte) {
	path := filepath.Join(t.Root, file)
	got, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(got, want):
	case t.Update:
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
		ts.Check(os.WriteFile(path, want, 0o644))
	default:
		ts.Fatalf("%s is not current: make pictures", file)
	}
}
