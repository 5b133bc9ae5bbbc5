// Command demo shows the daemon's main task with three simulated vCenters, a real control plane and the built
// daemon as a separate process. It exits with 0 only if every Node has the expected metadata and the
// scheduler spreads Pods over the zones. make demo runs it.
package main

import (
	"context"
	_ "embed"
	"errors"
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

//go:embed fleet.yaml
var fleetYAML string

const limit = 3 * time.Minute

func main() { os.Exit(show()) }

func show() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Discard client-go's own log.
	klog.SetLogger(klog.Logger{})
	d := &demo{out: os.Stdout, began: time.Now(), keep: os.Getenv("DEMO_KEEP"), folder: folder}
	if err := d.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: FAILED: %v\n", err)
		return 1
	}
	return 0
}

type demo struct {
	out   io.Writer
	began time.Time
	keep  string
	// folder contains the files for the reader.
	folder string
	// config is the path of the daemon's configuration.
	config string
	stack  *stack.Stack
}

func (d *demo) step(format string, args ...any) {
	fmt.Fprintf(d.out, "\n[%5.1f s] %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demo) print(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *demo) run(ctx context.Context) error {
	if err := built(); err != nil {
		return err
	}
	if d.keep == keepCluster {
		return d.serveCluster(ctx)
	}
	return d.play(ctx, binary)
}

func (d *demo) play(ctx context.Context, binary string) (err error) {
	d.step("Starting etcd and kube-apiserver, and three simulated vCenters with two datacenters each")
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d.stack, err = stack.Start(bounded, stack.Options{Fleet: fleetYAML})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stack.Stop()) }()
	daemon, err := d.label(bounded, binary)
	if err != nil {
		return err
	}
	cancel()
	if err := d.schedule(ctx); err != nil {
		return err
	}
	if d.keep != keepNothing {
		if err := d.hold(ctx, daemon); err != nil {
			return err
		}
	}
	return d.end(daemon)
}

func (d *demo) label(ctx context.Context, binary string) (*stack.Daemon, error) {
	d.announce()
	vms := d.stack.Fleet.VMs()
	d.step("Creating %d Nodes as their kubelets would: ready, tainted as uninitialized, every third with the first three fields of its UUID byte-swapped", len(vms))
	if err := d.stack.Register(ctx, vms...); err != nil {
		return nil, err
	}
	daemon, err := d.startDaemon(binary)
	if err != nil {
		return nil, err
	}
	nodes, err := d.waitForNodes(ctx, daemon)
	if err == nil {
		err = d.table(nodes)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, daemon.Log())
	}
	return daemon, nil
}

func built() error {
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("the daemon is not built: %w; make demo builds it and is run at the root of the project", err)
	}
	return nil
}

func (d *demo) startDaemon(binary string) (*stack.Daemon, error) {
	extra := "labels:\n  region: k8s-region\n  zone: k8s-zone\n"
	if d.keep != keepNothing {
		// The default settle time of a minute is too long for a reader.
		extra += "topology:\n  settle: 10s\n"
	}
	config, err := d.stack.WriteConfig(extra)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	d.config = config
	d.step("Starting the daemon with its ServiceAccount's token and this configuration:")
	d.print("\n%s", text)
	return d.stack.StartDaemon(path, config, "--deletion-hold=5s")
}

func (d *demo) end(daemon *stack.Daemon) error {
	took, err := daemon.Stop()
	if err != nil {
		return fmt.Errorf("the daemon ended with %w\n%s", err, daemon.Log())
	}
	for _, v := range d.stack.Fleet.VCenters() {
		if n := v.Sessions(); n > 0 {
			return fmt.Errorf("the daemon left %d sessions open on vCenter %s", n, v.Name())
		}
	}
	d.step("Stopped the daemon: SIGTERM to exit in %v, no session left on any vCenter. All checks passed.", took.Round(time.Millisecond))
	return nil
}
