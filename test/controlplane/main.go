// Command controlplane builds etcd, kube-apiserver, kube-controller-manager
// and kube-scheduler from their published Go modules.
//
// It is a module of its own, so that the tests and the demo have a real
// control plane while the main module never depends on k8s.io/kubernetes.
// The versions are those of this module's go.mod, and nothing else is
// downloaded than the Go modules that its go.sum lists.
//
// Run it in this folder:
//
//	go run . [-minor 1.N] [-out folder] [program …]
//
// Without a program all four are built. What is already current is left
// alone. A program that the folder $KUBEBUILDER_ASSETS holds is not built:
// package vzones/test/cluster takes it from there.
//
// With -minor it builds the three programs of an older minor of Kubernetes, from
// the module in versions/1.N. etcd is that of this module for all of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "the `folder` in which the programs are put (default ../../bin/controlplane, with -1.N for an older minor)")
	minor := flags.String("minor", "", "an older `minor` of Kubernetes, of which versions/ has a module")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: go run . [-minor 1.N] [-out folder] [program …]\nprograms: %s\n", strings.Join(names(programs), " "))
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	from, err := sourceOf(*minor)
	if err != nil {
		fmt.Fprintln(stderr, "controlplane:", err)
		return 2
	}
	wanted, err := choose(from.programs, flags.Args())
	if err != nil {
		fmt.Fprintln(stderr, "controlplane:", err)
		return 2
	}
	if *out == "" {
		*out = from.out
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tool, err := newToolchain(ctx, from.dir)
	if err == nil {
		b := &builder{
			out:     *out,
			assets:  os.Getenv("KUBEBUILDER_ASSETS"),
			key:     tool.key,
			compile: tool.compile,
			say:     func(line string) { fmt.Fprintln(stdout, "control plane:", line) },
		}
		err = b.run(ctx, wanted)
	}
	if err != nil {
		fmt.Fprintln(stderr, "controlplane:", err)
		return 1
	}
	return 0
}
