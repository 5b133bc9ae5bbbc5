package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	daemonFile = "bin/vsphere-cloud-controller-manager"
	demoFile   = "bin/demo"
	// limit bounds one go test, and grace what it may take to end after it.
	limit = 25 * time.Minute
	grace = 30 * time.Second
)

// A player runs entries with one version of Kubernetes.
type player struct {
	root string // absolute
	kubernetes
	log      io.Writer // gets all that the programs print
	progress func(format string, args ...any)
}

// programs are what the entries run with, beside etcd.
var programs = []string{"kube-apiserver", "kube-scheduler"}

// build builds the programs and makes sure that they are of the version.
func (p *player) build(ctx context.Context) error {
	targets := []string{"bin/controlplane/etcd"}
	for _, name := range programs {
		targets = append(targets, p.bin()+"/"+name)
	}
	if err := p.command(ctx, os.Stdout, "make", targets...); err != nil {
		return err
	}
	for _, name := range programs {
		file := filepath.Join(p.root, p.bin(), name)
		var out bytes.Buffer
		if err := p.command(ctx, &out, file, "--version"); err != nil {
			return err
		}
		if got := strings.TrimSpace(out.String()); got != "Kubernetes "+p.version {
			return fmt.Errorf("%s is %q, not Kubernetes %s", file, got, p.version)
		}
	}
	return nil
}

// command runs a program of the project in its root, without the control plane that
// the caller's environment may name.
func (p *player) command(ctx context.Context, out io.Writer, name string, args ...string) error {
	return p.run(ctx, out, nil, name, args...)
}

func (p *player) run(ctx context.Context, out io.Writer, variables []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = p.root
	cmd.Env = append(without(os.Environ(), "KUBEBUILDER_ASSETS", "VZONES_KUBERNETES", "VZONES_DAEMON", "DEMO_KEEP"), variables...)
	cmd.Stdout = out
	cmd.Stderr = p.log
	// It stops what it has started.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return nil
}

// variables choose the control plane and the daemon. The harness refuses a control
// plane of another version than VZONES_KUBERNETES.
func (p *player) variables() []string {
	return []string{
		"KUBEBUILDER_ASSETS=" + filepath.Join(p.root, p.bin()),
		"VZONES_KUBERNETES=" + p.version,
		"VZONES_DAEMON=" + filepath.Join(p.root, daemonFile),
	}
}

// play runs all entries and returns what became of each, in their order.
func (p *player) play(ctx context.Context, entries []entry) ([]result, error) {
	became := make(map[string]result)
	chosen := make(map[string][]entry)
	for _, e := range entries {
		why, err := e.leftOut(p.minor)
		if err != nil {
			return nil, err
		}
		if why != "" {
			became[e.Name] = result{e.Name, leftOut, why}
			continue
		}
		chosen[e.Kind] = append(chosen[e.Kind], e)
	}
	for range chosen[kindDemo] {
		became[kindDemo] = p.demo(ctx)
	}
	maps.Copy(became, p.test(ctx, scenarios, chosen[kindScenario]))
	maps.Copy(became, p.test(ctx, stacks, chosen[kindTest]))
	p.retry(ctx, entries, became)
	// A context that has ended says nothing about Kubernetes.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var results []result
	for _, e := range entries {
		r := became[e.Name]
		p.progress("%s: %-40s %s %s", p.version, r.Name, r.Outcome, r.Why)
		results = append(results, r)
	}
	return results, nil
}

// retry runs what has failed once more, alone: many tests expect something within
// seconds, and the first time they ran side by side. That it took two attempts is noted.
func (p *player) retry(ctx context.Context, entries []entry, became map[string]result) {
	for _, e := range entries {
		if became[e.Name].Outcome != failed || ctx.Err() != nil {
			continue
		}
		p.progress("%s: %s failed (%s) and is run once more", p.version, e.Name, became[e.Name].Why)
		second := became[e.Name]
		switch e.Kind {
		case kindDemo:
			second = p.demo(ctx)
		case kindScenario:
			second = p.test(ctx, scenarios, []entry{e})[e.Name]
		case kindTest:
			second = p.test(ctx, stacks, []entry{e})[e.Name]
		}
		became[e.Name] = secondAttempt(second)
	}
}

func secondAttempt(second result) result {
	if second.Outcome == passed {
		second.Why = "at the second attempt"
	} else {
		second.Why += ", twice"
	}
	return second
}

func (p *player) demo(ctx context.Context) result {
	p.progress("%s: the demo", p.version)
	if err := p.run(ctx, p.log, p.variables(), filepath.Join(p.root, demoFile)); err != nil {
		return result{kindDemo, failed, err.Error()}
	}
	return result{kindDemo, passed, ""}
}

// A suite is a package of tests. Its entries are tests below one test of it, if that
// is named.
type suite struct{ pkg, below string }

var (
	scenarios = suite{"./test/scenarios", "TestScenarios"}
	stacks    = suite{"./test/stack", ""}
)

// pattern matches exactly the entries.
func (s suite) pattern(entries []entry) string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	all := "^(" + strings.Join(names, "|") + ")$"
	if s.below == "" {
		return all
	}
	return "^" + s.below + "$/" + all
}

// test runs the entries of a suite.
func (p *player) test(ctx context.Context, s suite, entries []entry) map[string]result {
	if len(entries) == 0 {
		return nil
	}
	p.progress("%s: %d of %s", p.version, len(entries), s.pkg)
	reader, writer := io.Pipe()
	parsed := make(chan map[string]result)
	go func() { parsed <- outcomes(reader, p.log, s, entries) }()
	err := p.run(ctx, writer, p.variables(), "go", "test", "-json", "-count=1", "-timeout", limit.String(), "-run", s.pattern(entries), s.pkg)
	writer.Close()
	return after(<-parsed, err)
}

// after returns the outcomes of a go test that ended with an error or without. An error
// that no test accounts for, such as of a process that was left, is all of theirs.
func after(became map[string]result, err error) map[string]result {
	if err == nil {
		return became
	}
	for _, r := range became {
		if r.Outcome == failed {
			return became
		}
	}
	for name := range became {
		became[name] = result{name, failed, err.Error()}
	}
	return became
}

// outcomes reads what go test -json prints. What did not run, or left itself out, has
// failed.
func outcomes(from io.Reader, log io.Writer, s suite, entries []entry) map[string]result {
	type event struct{ Action, Test, Output string }
	became := make(map[string]result)
	for _, e := range entries {
		became[e.Name] = result{e.Name, failed, "it did not run"}
	}
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			fmt.Fprint(log, e.Output)
			name := e.Test
			if s.below != "" {
				name = strings.TrimPrefix(name, s.below+"/")
			}
			if _, wanted := became[name]; wanted {
				switch e.Action {
				case "pass":
					became[name] = result{name, passed, ""}
				case "fail":
					became[name] = result{name, failed, "see the log of the run"}
				case "skip":
					became[name] = result{name, failed, "it left itself out"}
				}
			}
		} else {
			_, _ = log.Write(line)
		}
		if err != nil {
			return became
		}
	}
}

// without returns an environment without some variables.
func without(environment []string, names ...string) []string {
	var rest []string
	for _, v := range environment {
		keep := true
		for _, name := range names {
			keep = keep && !strings.HasPrefix(v, name+"=")
		}
		if keep {
			rest = append(rest, v)
		}
	}
	return rest
}
