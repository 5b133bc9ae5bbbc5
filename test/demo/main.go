// Command demo shows the daemon's main job on real parts: three simulated
// vCenters, a real control plane, the built daemon as its own process. It exits
// with 0 only if every Node got what it should and the scheduler spread Pods
// over the zones. make demo runs it.
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

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"vzones/test/cluster"
	"vzones/test/stack"
)

//go:embed fleet.yaml
var fleetYAML string

// limit bounds the demo without the building of programs.
const limit = 3 * time.Minute

func main() { os.Exit(show()) }

func show() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What client-go logs about itself is no part of the show.
	klog.SetLogger(logr.Discard())
	d := &demo{out: os.Stdout, began: time.Now(), keep: os.Getenv("DEMO_KEEP") != ""}
	if err := d.run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: FAILED: %v\n", err)
		return 1
	}
	return 0
}

type demo struct {
	out   io.Writer
	began time.Time
	keep  bool
	stack *stack.Stack
}

// step prints a headline with the time since the start.
func (d *demo) step(format string, args ...any) {
	fmt.Fprintf(d.out, "\n[%5.1f s] %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demo) print(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func (d *demo) run(ctx context.Context) (err error) {
	d.step("Starting etcd and kube-apiserver, and three simulated vCenters with two datacenters each")
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d.stack, err = stack.Start(bounded, stack.Options{Fleet: fleetYAML})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stack.Stop()) }()
	for _, v := range d.stack.Fleet.VCenters() {
		v.SetDelay(5 * time.Millisecond)
		d.print("          vCenter %-6s https://%s:%d, %d machines, 5 ms a request", v.Name(), v.Host(), v.Port(), len(v.Machines()))
	}
	d.print("          API server %s, RBAC on; the roles are those of manifests/", d.stack.Cluster.AdminConfig().Host)

	machines := d.stack.Fleet.Machines()
	d.step("Creating %d Nodes as their kubelets would: ready, tainted as uninitialized, every third with its UUID in the other byte order", len(machines))
	if err := d.stack.Register(bounded, machines...); err != nil {
		return err
	}
	daemon, err := d.startDaemon()
	if err != nil {
		return err
	}
	nodes, err := d.waitForNodes(bounded, daemon)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.Log())
	}
	if err := d.table(nodes); err != nil {
		return fmt.Errorf("%w\n%s", err, daemon.Log())
	}
	cancel()
	if err := d.schedule(ctx); err != nil {
		return err
	}
	if d.keep {
		d.hold(ctx, daemon)
	}
	return d.end(daemon)
}

func (d *demo) startDaemon() (*stack.Daemon, error) {
	config, err := d.stack.WriteConfig("labels:\n  region: k8s-region\n  zone: k8s-zone\n")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs("bin/vsphere-cloud-controller-manager")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the daemon is not built: %w; make demo builds it and is run at the root of the project", err)
	}
	d.step("Starting the daemon with its ServiceAccount's token and this configuration:")
	d.print("\n%s", text)
	return d.stack.StartDaemon(binary, config)
}

// hold leaves everything running until the user ends it.
func (d *demo) hold(ctx context.Context, daemon *stack.Daemon) {
	d.step("Everything stays up (DEMO_KEEP is set). Ctrl-C ends it. To look around:")
	d.print("\n  export KUBECONFIG=%s\n  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone\n", d.stack.Cluster.AdminKubeconfig())
	d.print("  the daemon's log: %s", daemon.LogPath())
	select {
	case <-ctx.Done():
	case <-daemon.Exited():
		d.print("The daemon has ended on its own.")
	}
}

// end stops the daemon and checks that it leaves no session behind.
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
	d.step("Stopped the daemon: SIGTERM to exit in %v, no session left on any vCenter. All is right.", took.Round(time.Millisecond))
	return nil
}

// builder is the folder of the module that builds the control plane.
const builder = "test/controlplane"

var laterPrograms = []string{cluster.ControllerManager, cluster.Scheduler}
