package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A tree is the sources as they are checked out.
type tree struct {
	// dir is their folder.
	dir string
	// version is what is built from them.
	version string
	// commit is what is checked out, created is its time, and changed says that files
	// differ from it. Without git, commit is "".
	commit  string
	created time.Time
	changed bool
}

// look finds out what is checked out. SOURCE_DATE_EPOCH, seconds since 1970, counts before
// the time of the commit, and stands in for it where there is no git.
func (t *tree) look(ctx context.Context) error {
	var err error
	if t.dir, err = filepath.Abs(t.dir); err != nil {
		return err
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if commit, err := t.git(ctx, "rev-parse", "HEAD"); err == nil {
		t.commit = commit
		status, err := t.git(ctx, "status", "--porcelain")
		if err != nil {
			return err
		}
		t.changed = status != ""
		if seconds == "" {
			if seconds, err = t.git(ctx, "log", "-1", "--format=%ct"); err != nil {
				return err
			}
		}
	} else if seconds == "" {
		return fmt.Errorf("%w: without git, set SOURCE_DATE_EPOCH to the time of the sources", err)
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	t.created = time.Unix(unix, 0).UTC()
	return nil
}

// git runs git in the tree and returns what it prints.
func (t *tree) git(ctx context.Context, args ...string) (string, error) {
	out, err := output(t.command(ctx, nil, "git", args...))
	return strings.TrimSpace(string(out)), err
}

// read returns a file of the tree.
func (t *tree) read(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(t.dir, filepath.FromSlash(path)))
}

// command returns a command that runs in the tree, with further variables.
func (t *tree) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = t.dir
	// A make that runs this leaves its own flags in the environment.
	cmd.Env = append(append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "MAKEFILES=", "GNUMAKEFLAGS="), env...)
	return cmd
}

// output runs a command and returns what it prints; what it complains of is in the error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
