// Command bench measures what the daemon costs: requests to the vCenters, the
// time to the last Node, CPU and memory. Beside each figure is the floor, that
// of the framework with a provider that answers from a constant, measured in
// the same run. make bench builds and runs it; RESULTS.md
// says what the figures mean.
//
// The control plane is real and the daemon a process of its own; the vCenters
// are simulated in this process.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"vzones/test/bench/figures"
)

// gcPercent is ours: memory is plenty, and the cores are shared with what is
// measured.
const gcPercent = 400

type options struct {
	daemon, floor, cases, json string
	delay                      time.Duration
	short, strict, list        bool
	runs                       int
}

func main() {
	// The simulated vCenters share the cores with what is measured, and memory is no matter here.
	debug.SetGCPercent(400)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns 0 if all cases were measured, 1 if not, and 2 if it does not
// understand its arguments.
func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.daemon, "daemon", "bin/vsphere-cloud-controller-manager", "`path` of the daemon")
	flags.StringVar(&o.floor, "floor", "bin/bench-floor", "`path` of the program of test/bench/floor")
	flags.StringVar(&o.cases, "cases", "", "measure only these, `names` joined by commas; * at the end for a prefix")
	flags.StringVar(&o.json, "json", "", "write the figures to a `file`, too")
	flags.DurationVar(&o.delay, "delay", 5*time.Millisecond, "what a vCenter waits before it answers a request")
	flags.IntVar(&o.runs, "runs", 0, "how often the cases of seconds are done; the median counts (default 3, with -short 1)")
	flags.BoolVar(&o.short, "short", false, "one run each, one minute of steady state, no retag")
	flags.BoolVar(&o.strict, "strict", false, "exit with 1 also if a limit is exceeded")
	flags.BoolVar(&o.list, "list", false, "list the cases")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil || flags.NArg() > 0 || o.runs < 0:
		fmt.Fprintln(stderr, "bench takes no arguments; -help shows its flags")
		return 2
	}
	todo, err := plan(o)
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 2
	}
	if o.list {
		for _, c := range todo {
			fmt.Fprintf(stdout, "%-24s %s\n", c.name, c.about)
		}
		return 0
	}
	return o.measure(todo, stdout, stderr)
}

// plan is what is to be measured.
func plan(o options) ([]benchCase, error) {
	todo, err := choose(cases(), o.cases, o.short)
	for i := range todo {
		switch c := &todo[i]; {
		case c.runs <= 1:
		case o.runs > 0:
			c.runs = o.runs
		case o.short:
			c.runs = 1
		}
	}
	return todo, err
}

func (o options) measure(todo []benchCase, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	klog.SetLogger(klog.Logger{}) // what client-go logs about itself
	debug.SetGCPercent(gcPercent)
	b := &bench{progress: stderr, began: time.Now(), delay: o.delay, short: o.short}
	report := &figures.Report{
		Began: b.began, Daemon: o.daemon, Short: o.short,
		DelayMS: float64(o.delay) / float64(time.Millisecond), Machine: machine(),
	}
	err := o.programs(ctx, b, report)
	if err == nil {
		err = b.run(ctx, todo, report)
	}
	report.Seconds = time.Since(b.began).Seconds()
	if len(report.Cases) > 0 {
		fmt.Fprintln(stderr)
		err = errors.Join(err, report.Print(stdout))
		if o.json != "" {
			err = errors.Join(err, report.WriteJSON(o.json))
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	if report.Failed() || o.strict && report.Over() {
		return 1
	}
	return 0
}

// programs finds the daemon and the floor. They are run in another folder.
func (o options) programs(ctx context.Context, b *bench, report *figures.Report) (err error) {
	b.daemon, b.floor = program{name: "daemon"}, program{name: "floor", floor: true}
	if b.daemon.path, err = existing(o.daemon); err != nil {
		return err
	}
	if b.floor.path, err = existing(o.floor); err != nil {
		return err
	}
	var help [2]string
	for i, p := range []program{b.daemon, b.floor} {
		out, err := exec.CommandContext(ctx, p.path, "--help").Output()
		if err != nil {
			return fmt.Errorf("%s --help: %w", p.path, err)
		}
		help[i] = string(out)
	}
	b.differ = differences(defaults(help[0]), defaults(help[1]))
	out, err := exec.CommandContext(ctx, b.daemon.path, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", o.daemon, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	report.Version = strings.TrimPrefix(first, "vzones ")
	return nil
}

func existing(path string) (string, error) {
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w; make bench builds it and is run at the root of the project", err)
	}
	return filepath.Abs(path)
}

func machine() figures.Machine {
	m := figures.Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version()}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(load), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	return m
}
