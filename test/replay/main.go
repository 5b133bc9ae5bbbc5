// Command replay judges the daemon and vzones with recorded vCenters: folders or archives of govc object.save.
// It loads them into the simulator, registers a Node for each running VM with a real control plane, runs the
// built daemon, and compares each Node with a second, independent reading of the recording. make replay runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"vzones/test/stack"
)

const limit = 20 * time.Minute

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// A replay replays recordings on one control plane.
type replay struct {
	out          io.Writer
	daemon, tool string // paths
	region, zone string // tag categories
	stack        *stack.Stack
	judged       int // Nodes
	differences  int
}

// run returns the exit code: 0 if nothing differs, 1 if something does, 2 for invalid arguments.
func run(args []string, out io.Writer) int {
	r := &replay{out: out}
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	recordings := flags.String("recordings", "../shared/recordings", "`folder` of archives NAME.tar.gz, replayed one by one and all at once")
	dir := flags.String("dir", "", "replay only this `folder`, written by govc object.save")
	flags.StringVar(&r.region, "region", "region", "tag `category` of regions")
	flags.StringVar(&r.zone, "zone", "zone", "tag `category` of zones")
	flags.StringVar(&r.daemon, "daemon", "bin/vsphere-cloud-controller-manager", "`path` of the daemon")
	flags.StringVar(&r.tool, "vzones", "bin/vzones", "`path` of vzones")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil || flags.NArg() > 0 {
		return 2
	}
	// Discard client-go's own log.
	klog.SetLogger(klog.Logger{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := r.replay(ctx, *dir, *recordings); err != nil {
		fmt.Fprintf(out, "replay: %v\n", err)
		return 1
	}
	return 0
}

func (r *replay) print(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *replay) replay(ctx context.Context, dir, recordings string) (err error) {
	for _, path := range []*string{&r.daemon, &r.tool} {
		// Programs run in another folder.
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if dir != "" {
		if dir, err = filepath.Abs(dir); err != nil {
			return err
		}
		v, err := readRecording("vcenter", dir, r.region, r.zone)
		if err != nil {
			return err
		}
		return r.each(ctx, [][]*recording{{v}})
	}
	archives, err := filepath.Glob(filepath.Join(recordings, "*.tar.gz"))
	if err != nil || len(archives) == 0 {
		return fmt.Errorf("no recordings (*.tar.gz) in %s", recordings)
	}
	unpacked, err := os.MkdirTemp("", "vzones-replay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(unpacked)
	var all []*recording
	var sets [][]*recording
	for i, archive := range archives {
		folder, err := unpack(archive, unpacked)
		if err != nil {
			return err
		}
		v, err := readRecording(fmt.Sprintf("vc%d", i+1), folder, r.region, r.zone)
		if err != nil {
			return err
		}
		all = append(all, v)
		sets = append(sets, []*recording{v})
	}
	if len(all) > 1 {
		sets = append(sets, all)
	}
	return r.each(ctx, sets)
}

func (r *replay) each(ctx context.Context, sets [][]*recording) (err error) {
	r.stack, err = stack.Start(ctx, stack.Options{Fleet: "vcenters: [{name: none}]"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stack.Stop()) }()
	for _, set := range sets {
		if err := r.judge(ctx, set); err != nil {
			return err
		}
	}
	if r.differences > 0 {
		return fmt.Errorf("%d differences in %d Nodes judged", r.differences, r.judged)
	}
	r.print("\n%d Nodes judged, no difference.", r.judged)
	return nil
}
