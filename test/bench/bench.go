package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/test/bench/figures"
	"vzones/test/cluster"
	"vzones/test/stack"
)

// bench runs cases one after the other on one control plane.
type bench struct {
	progress      io.Writer
	began         time.Time
	daemon, floor program
	delay         time.Duration
	short         bool
	more          string // of the configuration, in the case that is measured
	// others are further Nodes, which are registered after those of machines.
	others []*v1.Node

	stack *stack.Stack
	// differ names the flags whose defaults the daemon and the floor do not share.
	differ string
}

// whole bounds all cases together.
const (
	whole      = 45 * time.Minute
	wholeShort = 20 * time.Minute
)

// report prints what is going on, with the time since the start.
func (b *bench) report(format string, args ...any) {
	fmt.Fprintf(b.progress, "[%6.1f s] %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// run measures cases and puts them into the report. Its error is one that ends
// the benchmark; that of a case is in the report.
func (b *bench) run(ctx context.Context, todo []benchCase, report *figures.Report) (err error) {
	limit := whole
	if b.short {
		limit = wholeShort
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("all cases together took longer than %s", limit))
	defer cancel()
	b.report("starting etcd and kube-apiserver")
	first := warmUp()
	b.stack, err = stack.Start(ctx, stack.Options{Fleet: first.fleet.description(), FullNodes: true, Cluster: cluster.Options{Flags: map[string][]string{
		cluster.APIServer: {"--delete-collection-workers=16"},
	}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	b.report("running both programs once, for files and caches to be warm")
	if err := first.measure(ctx, b, first, &figures.Case{}); err != nil {
		return err
	}
	for _, c := range todo {
		result := &figures.Case{Name: c.name, About: c.about, Nodes: c.fleet.total(), VCenters: c.fleet.vcenters, OtherVMs: c.fleet.others}
		report.Cases = append(report.Cases, result)
		if err := b.one(ctx, c, result); err != nil {
			result.Error = err.Error()
			b.report("%s: could not be measured: %v", c.name, err)
		}
		if err := b.stack.Cluster.Err(); err != nil {
			return err
		}
	}
	return nil
}

// one measures one case.
func (b *bench) one(ctx context.Context, c benchCase, result *figures.Case) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.deadline, fmt.Errorf("the case took longer than %s", c.deadline))
	defer cancel()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.report("%s: %s", c.name, c.about)
	if err := b.replace(ctx, c.fleet); err != nil {
		return err
	}
	b.more = c.more
	runtime.GC() // of the fleet before, whose garbage would be collected meanwhile
	if err := c.measure(ctx, b, c, result); err != nil {
		return err
	}
	return result.Check(c.bounds)
}

// replace has a fleet take the place of the previous one.
func (b *bench) replace(ctx context.Context, l layout) error {
	if err := b.stack.ReplaceFleet(ctx, l.description()); err != nil {
		return err
	}
	for _, v := range b.stack.Fleet.VCenters() {
		v.SetDelay(b.delay)
	}
	return nil
}

func (b *bench) resetRequests() {
	for _, v := range b.stack.Fleet.VCenters() {
		v.ResetRequests()
	}
}

// requests are those to the vCenters since the last reset.
func (b *bench) requests() *figures.Requests {
	kinds := map[string]map[string]int{}
	for _, v := range b.stack.Fleet.VCenters() {
		kinds[v.Name()] = v.Requests()
	}
	counted := figures.Count(kinds)
	for _, v := range b.stack.Fleet.VCenters() {
		counted.Bytes += v.Bytes()
	}
	return counted
}
