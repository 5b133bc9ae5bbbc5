package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A toolchain is the go command on this machine, with the flags that this
// module's programs are built with.
type toolchain struct {
	dir   string // the module's folder
	flags []string
	base  string // the part of the key that all programs share
}

// newToolchain asks the go command which versions it would build from the module
// in a folder.
func newToolchain(ctx context.Context, dir string) (*toolchain, error) {
	version, err := goOutput(ctx, dir, "list", "-mod=readonly", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	platform, err := goOutput(ctx, dir, "env", "GOOS", "GOARCH", "GOVERSION")
	if err != nil {
		return nil, err
	}
	flags, err := buildFlags(strings.TrimSpace(version))
	if err != nil {
		return nil, err
	}
	parts := []string{platform, strings.Join(flags, "\n")}
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("not in the folder of test/controlplane: %w", err)
		}
		parts = append(parts, string(content))
	}
	return &toolchain{dir: dir, flags: flags, base: strings.Join(parts, "\x00")}, nil
}

// buildFlags stamps the version into the binaries. Without it they call
// themselves v0.0.0-master, and clients that look at the server's version
// would take the wrong path.
func buildFlags(version string) ([]string, error) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) != 3 {
		return nil, fmt.Errorf("k8s.io/kubernetes %q: not a version", version)
	}
	const variables = "k8s.io/component-base/version."
	ld := []string{"-s", "-w",
		"-X", variables + "gitVersion=" + version,
		"-X", variables + "gitMajor=" + parts[0],
		"-X", variables + "gitMinor=" + parts[1],
	}
	return []string{"-mod=readonly", "-trimpath", "-ldflags", strings.Join(ld, " ")}, nil
}

// key changes whenever the binary of a program would.
func (t *toolchain) key(p program) string {
	sum := sha256.Sum256([]byte(t.base + "\x00" + p.pkg))
	return hex.EncodeToString(sum[:])
}

// compile builds a program into a file. What the go command prints is shown
// only when it fails: the first build names some two hundred downloads.
func (t *toolchain) compile(ctx context.Context, p program, file string) error {
	file, err := filepath.Abs(file) // the go command runs in another folder
	if err != nil {
		return err
	}
	args := append([]string{"build"}, t.flags...)
	_, err = goOutput(ctx, t.dir, append(args, "-o", file, p.pkg)...)
	return err
}

func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A go.work around the repository, or cgo, would give other binaries.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	// The go command removes its temporary files on an interrupt, not on a kill.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, lastLines(stderr.String(), 20))
	}
	return stdout.String(), nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
