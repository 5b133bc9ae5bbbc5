// Command bench measures the cost of the daemon: requests to the vCenters, the time until the last
// Node is initialized, CPU and memory. It measures the floor in turn: the framework with a provider
// that returns constants. make bench builds and runs it; RESULTS.md contains the last results.
//
// The control plane is real, the daemon is a separate process, and the vCenters are simulated in
// this process.
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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"vzones/test/cluster"
	"vzones/test/stack"
)

const limit = 45 * time.Minute

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// bench measures cases one at a time on one control plane.
type bench struct {
	progress      io.Writer
	began         time.Time
	daemon, floor program
	delay         time.Duration // delay of each vCenter response
	isShort       bool          // measure each case once
	stack         *stack.Stack
	// rest is the daemon's reading at rest without fillers, zero until measured.
	rest reading
}

type program struct {
	name, path string
	flags      []string
}

// run returns the exit code: 0 if all cases were measured, 1 if not, 2 for invalid arguments.
func run(args []string, stdout, stderr io.Writer) int {
	b := &bench{progress: stderr, began: time.Now(), daemon: program{name: "daemon"}, floor: program{name: "floor"}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&b.daemon.path, "daemon", "bin/vsphere-cloud-controller-manager", "`path` of the daemon")
	flags.StringVar(&b.floor.path, "floor", "bin/bench-floor", "`path` of the baseline program (test/bench/floor)")
	names := flags.String("cases", "", "measure only the cases with these comma-separated `names`")
	flags.DurationVar(&b.delay, "delay", 5*time.Millisecond, "how long a vCenter delays each response")
	flags.BoolVar(&b.isShort, "short", false, "measure each case once instead of reporting the median of three runs")
	list := flags.Bool("list", false, "list the cases")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	todo, chosen := choose(*names)
	if err = errors.Join(err, chosen); err != nil || flags.NArg() > 0 {
		fmt.Fprintf(stderr, "bench: %v; -help shows the flags\n", err)
		return 2
	}
	if *list {
		for _, c := range todo {
			fmt.Fprintf(stdout, "%-24s %s\n", c.name, c.about)
		}
		return 0
	}
	// Discard client-go's own log.
	klog.SetLogger(klog.Logger{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.measureAll(ctx, todo, stdout); err != nil {
		fmt.Fprintf(stderr, "bench: %v\n", err)
		return 1
	}
	return 0
}

func (b *bench) report(format string, args ...any) {
	fmt.Fprintf(b.progress, "[%6.1f s] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

func (b *bench) measureAll(ctx context.Context, todo []benchCase, stdout io.Writer) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("all cases together took longer than %s", limit))
	defer cancel()
	if err := b.findPrograms(ctx); err != nil {
		return err
	}
	b.report("starting etcd and kube-apiserver")
	warmUp := benchCase{name: "warm-up", fleet: layout{vcenters: 1, nodes: 60}}
	b.stack, err = stack.Start(ctx, stack.Options{Fleet: warmUp.fleet.description(), FullNodes: true, Cluster: cluster.Options{Flags: map[string][]string{
		cluster.APIServer: {"--delete-collection-workers=16"},
	}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	// The daemon may be the vSphere CPI.
	if err := b.stack.Cluster.Apply(ctx, []byte(stack.CPIPermissions), nil); err != nil {
		return err
	}
	// The first measurement only warms up files and caches.
	if _, err := b.measure(ctx, warmUp); err != nil {
		return err
	}
	var errs []error
	table := heading(b.delay)
	for _, c := range todo {
		b.report("%s: %s", c.name, c.about)
		row, err := b.measure(ctx, c)
		if err != nil {
			b.report("%s: measurement failed: %v", c.name, err)
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
		table += row
		if err := b.stack.Cluster.Err(); err != nil {
			return err
		}
	}
	fmt.Fprint(stdout, table)
	return errors.Join(errs...)
}

// findPrograms gives the floor the daemon's flag defaults. It makes paths absolute because programs
// run in another folder.
func (b *bench) findPrograms(ctx context.Context) error {
	var help [2]string
	for i, p := range []*program{&b.daemon, &b.floor} {
		path, err := filepath.Abs(p.path)
		if err != nil {
			return err
		}
		p.path = path
		out, err := exec.CommandContext(ctx, path, "--help").Output()
		if err != nil {
			return fmt.Errorf("%s --help: %w; run make bench at the root of the project", path, err)
		}
		help[i] = string(out)
	}
	b.floor.flags = differences(defaults(help[0]), defaults(help[1]))
	return nil
}

// flagLine matches a flag in the output of --help.
var flagLine = regexp.MustCompile(`(?m)^ +(?:-\S, )?--([a-z0-9-]+)(?:.*\(default "?(.*?)"?\))?`)

func defaults(help string) map[string]string {
	found := map[string]string{}
	for _, match := range flagLine.FindAllStringSubmatch(help, -1) {
		found[match[1]] = match[2]
	}
	return found
}

// differences returns the flags that change a program's own defaults to the wanted values. Flags
// that only one program has are omitted.
func differences(wanted, current map[string]string) []string {
	var flags []string
	for name, value := range wanted {
		if currentValue, ok := current[name]; ok && currentValue != value {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	slices.Sort(flags)
	return flags
}

func choose(names string) ([]benchCase, error) {
	if names == "" {
		return cases(), nil
	}
	var chosen []benchCase
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(cases(), func(c benchCase) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no case %q: -list shows all", name)
		}
		chosen = append(chosen, cases()[i])
	}
	return chosen, nil
}
