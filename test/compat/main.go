// Command compat runs the demo and the tests in list.yaml with the built daemon against the control planes
// of several minor versions of Kubernetes. Each version that passes gets a row in
// docs/reference/compatibility.md. make compat runs it at the root of the project.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"gopkg.in/yaml.v3"
)

const (
	pageFile   = "docs/reference/compatibility.md"
	daemonFile = "bin/vsphere-cloud-controller-manager"
	// limit is the time limit for the tests of one package.
	limit = 25 * time.Minute
)

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "compat: FAILED: %v\n", err)
		return 1
	}
	return 0
}

//go:embed list.yaml
var listYAML []byte

func readList() (map[string][]string, error) {
	var list map[string]map[string]string
	if err := yaml.Unmarshal(listYAML, &list); err != nil {
		return nil, fmt.Errorf("test/compat/list.yaml: %w", err)
	}
	names := map[string][]string{}
	for pkg, tests := range list {
		names[pkg] = slices.Sorted(maps.Keys(tests))
	}
	return names, nil
}

// A kubernetes is a version of Kubernetes with a module that builds it.
type kubernetes struct {
	minor   string // 1.36
	version string // v1.36.4
	module  string // folder of the module
	bin     string // folder of the built programs
}

var versionOfKubernetes = regexp.MustCompile(`\n\tk8s\.io/kubernetes (v(1\.[0-9]+)\.[0-9]+)`)

// buildable returns the versions of Kubernetes with a module, newest first. The newest is
// test/controlplane, which all other tests use.
func buildable(root string) ([]kubernetes, error) {
	const module = "test/controlplane"
	files, err := filepath.Glob(filepath.Join(root, module, "versions", "*", "go.mod"))
	if err != nil {
		return nil, err
	}
	versions := []kubernetes{{module: module, bin: "bin/controlplane"}}
	slices.Reverse(files)
	for _, file := range files {
		minor := filepath.Base(filepath.Dir(file))
		versions = append(versions, kubernetes{module: module + "/versions/" + minor, bin: "bin/controlplane-" + minor})
	}
	for i := range versions {
		text, err := os.ReadFile(filepath.Join(root, versions[i].module, "go.mod"))
		if err != nil {
			return nil, err
		}
		found := versionOfKubernetes.FindStringSubmatch(string(text))
		if found == nil {
			return nil, fmt.Errorf("%s requires no k8s.io/kubernetes", versions[i].module)
		}
		versions[i].version = found[1]
		versions[i].minor = found[2]
	}
	return versions, nil
}

// compare runs the list with the given minor versions, or with all.
func compare(ctx context.Context, minors []string) error {
	tests, err := readList()
	if err != nil {
		return err
	}
	versions, err := buildable(".")
	if err != nil {
		return fmt.Errorf("not in the root of the project: %w", err)
	}
	for _, minor := range minors {
		if !slices.ContainsFunc(versions, func(k kubernetes) bool { return k.minor == minor }) {
			return fmt.Errorf("K8S=%s: test/controlplane has no module for it", minor)
		}
	}
	commit, why, err := committed(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range versions {
		if len(minors) > 0 && !slices.Contains(minors, k.minor) {
			continue
		}
		began := time.Now()
		if err := k.play(ctx, tests); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", k.version, err))
			continue
		}
		fmt.Fprintf(os.Stdout, "compat: %s: all passed in %s\n", k.version, time.Since(began).Round(time.Second))
		if why == "" {
			errs = append(errs, k.record(versions, commit))
		}
	}
	if why != "" {
		fmt.Fprintf(os.Stdout, "compat: nothing is recorded: %s\n", why)
	}
	return errors.Join(errs...)
}

// committed returns the checked-out commit. why is the reason that results cannot be recorded, if the
// daemon is not built from exactly that commit.
func committed(ctx context.Context) (commit, why string, err error) {
	var out [3]string
	for i, args := range [][]string{
		{"git", "rev-parse", "HEAD"}, {"git", "status", "--porcelain", "--", ".", ":!" + pageFile}, {daemonFile, "--version=raw"},
	} {
		printed, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		}
		out[i] = strings.TrimSpace(string(printed))
	}
	commit = out[0]
	uncommitted := out[1]
	version := out[2]
	switch {
	case uncommitted != "":
		why = "there are changes that are not committed: " + uncommitted
	case !strings.Contains(version, commit):
		why = fmt.Sprintf("%s is not built from %s: make build", daemonFile, commit)
	}
	return commit, why, nil
}

func (k kubernetes) play(ctx context.Context, tests map[string][]string) error {
	name := "bin/compat-" + k.minor + ".log"
	log, err := os.Create(name)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Fprintf(os.Stdout, "compat: %s: what is printed goes to %s\n", k.version, name)
	if err := k.run(ctx, os.Stdout, log, "make", "bin/controlplane/etcd", k.bin+"/kube-apiserver", k.bin+"/kube-scheduler"); err != nil {
		return err
	}
	errs := []error{k.run(ctx, log, log, "bin/demo")}
	for pkg, names := range tests {
		var out bytes.Buffer
		err := k.run(ctx, io.MultiWriter(&out, log), log, "go", "test", "-json", "-count=1", "-timeout="+limit.String(), "-run="+pattern(names), pkg)
		if missing := without(names, passed(&out)); err == nil && len(missing) > 0 {
			err = fmt.Errorf("%s: not run: %s", pkg, strings.Join(missing, ", "))
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w; see %s", err, name)
	}
	return nil
}

// run runs a program with the built daemon and this version's control plane, which package cluster checks.
func (k kubernetes) run(ctx context.Context, stdout, stderr io.Writer, name string, args ...string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEMO_KEEP=", "VZONES_KUBERNETES="+k.version, "VZONES_DAEMON="+filepath.Join(root, daemonFile))
	// With KUBEBUILDER_ASSETS, make would not build the programs.
	if name != "make" {
		cmd.Env = append(cmd.Env, "KUBEBUILDER_ASSETS="+filepath.Join(root, k.bin))
	}
	cmd.Stdout = stdout
	cmd.Stderr = stderr
	// SIGTERM lets the command stop its children.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

func pattern(names []string) string {
	patterns := make([]string, len(names))
	for i, name := range names {
		patterns[i] = "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
	}
	return strings.Join(patterns, "|")
}

func passed(printed *bytes.Buffer) []string {
	var names []string
	for line := range bytes.Lines(printed.Bytes()) {
		var e struct{ Action, Test string }
		if json.Unmarshal(line, &e) == nil && e.Action == "pass" {
			names = append(names, e.Test)
		}
	}
	return names
}

func without(names, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(excluded, name) })
}

func (k kubernetes) record(versions []kubernetes, commit string) error {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	row := fmt.Sprintf("| %s | %s | `%.12s` | %s, %s/%s |\n", k.version, time.Now().UTC().Format(time.DateOnly), commit,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	page, err := withRow(string(text), versions, k, row)
	if err != nil {
		return err
	}
	return os.WriteFile(pageFile, []byte(page), 0o644)
}

var (
	resultTable = regexp.MustCompile(`(?s)(\n<!-- results: written by make compat -->\n(?:\|[^\n]*\n){2})(.*?)(<!-- end of results -->\n)`)
	resultRow   = regexp.MustCompile(`^\| v(1\.[0-9]+)\.`)
)

// withRow replaces the row of a minor version and removes the rows of versions that cannot be built.
func withRow(page string, versions []kubernetes, k kubernetes, row string) (string, error) {
	section := resultTable.FindStringSubmatch(page)
	if section == nil {
		return "", fmt.Errorf("%s has no table of results", pageFile)
	}
	rows := map[string]string{}
	for line := range strings.Lines(section[2]) {
		if minor := resultRow.FindStringSubmatch(line); minor != nil {
			rows[minor[1]] = line
		}
	}
	rows[k.minor] = row
	table := ""
	for _, version := range versions {
		table += rows[version.minor]
	}
	return strings.Replace(page, section[0], section[1]+table+section[3], 1), nil
}
