// Command upstream runs the specs of Kubernetes' own e2e.test that concern a cloud controller manager against the
// built daemon: a real control plane, three simulated vCenters with six zones, and 24 Nodes whose kubelets kwok
// simulates. It exits with 0 only if every spec to run in specs.yaml passed. make upstream runs it at the root of
// the project.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/test/cluster"
	"vzones/test/process"
	"vzones/test/stack"
)

const (
	daemonFile = "bin/vsphere-cloud-controller-manager"
	// folder contains the programs and the logs.
	folder    = "bin/upstream"
	fleetFile = "test/demo/fleet.yaml"
	// deleteStage replaces a stage of kwok, whose other stages make copies to the folder.
	deleteStage = "test/upstream/pod-delete.yaml"

	labels = "labels:\n  region: k8s-region\n  zone: k8s-zone\n"

	// startLimit is the time limit until all Nodes are initialized, playLimit that of all specs together.
	startLimit = 3 * time.Minute
	playLimit  = 40 * time.Minute
)

func main() { os.Exit(status()) }

func status() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Discard client-go's own log.
	klog.SetLogger(klog.Logger{})
	if err := play(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "upstream: FAILED: %v\n", err)
		return 1
	}
	return 0
}

func print(format string, args ...any) { fmt.Fprintf(os.Stdout, "upstream: "+format+"\n", args...) }

func play(ctx context.Context) (err error) {
	dir, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	l, err := readList(listYAML)
	if err != nil {
		return fmt.Errorf("%s: %w", listFile, err)
	}
	listed, err := exec.CommandContext(ctx, filepath.Join(dir, "e2e.test"), "--list-tests").Output()
	if err != nil {
		return fmt.Errorf("e2e.test --list-tests: %w", err)
	}
	if err := l.check(parseNames(string(listed))); err != nil {
		return fmt.Errorf("%s: %w", listFile, err)
	}
	w, err := start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	began := time.Now()
	print("playing %d specs (about five minutes), log in %s/e2e.log", len(l.Run), folder)
	results, err := w.run(ctx, l.focus())
	if err != nil {
		return err
	}
	if err := l.judge(results, print); err != nil {
		return fmt.Errorf("%w; see e2e.log and daemon.log in %s", err, folder)
	}
	print("all passed in %s", time.Since(began).Round(time.Second))
	return nil
}

// A world is a cluster whose Nodes the daemon has initialized.
type world struct {
	dir    string
	stack  *stack.Stack
	kwok   *process.Process
	daemon *stack.Daemon
}

func start(ctx context.Context, dir string) (*world, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	fleet, err := os.ReadFile(fleetFile)
	if err != nil {
		return nil, fmt.Errorf("not in the root of the project: %w", err)
	}
	// All controllers that kube-controller-manager runs by default. The node-lifecycle controller is named because
	// the cluster starts with another admission plugin for it.
	controllers := []string{"*", cluster.NodeLifecycle}
	s, err := stack.Start(ctx, stack.Options{Fleet: string(fleet), Cluster: cluster.Options{Controllers: controllers}})
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, stack: s}
	if err := w.prepare(ctx); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *world) prepare(ctx context.Context) (err error) {
	s := w.stack
	if err := addIPv6(s); err != nil {
		return err
	}
	vms := s.Fleet.VMs()
	if err := s.Register(ctx, vms...); err != nil {
		return err
	}
	for _, start := range []func(context.Context) error{s.Cluster.StartControllerManager, s.Cluster.StartScheduler} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	if err := w.startKwok(); err != nil {
		return err
	}
	config, err := writeConfig(s)
	if err != nil {
		return err
	}
	daemon, err := filepath.Abs(daemonFile)
	if err != nil {
		return err
	}
	if w.daemon, err = s.StartDaemon(daemon, config); err != nil {
		return err
	}
	zones := map[string]bool{}
	err = s.Watch(ctx, "all Nodes are initialized", func(nodes []*v1.Node) bool {
		initialized := 0
		for _, n := range nodes {
			if stack.Initialized(n) {
				initialized++
				zones[n.Labels[v1.LabelTopologyZone]] = true
			}
		}
		return initialized == len(vms)
	})
	if err != nil {
		return err
	}
	delete(zones, "")
	print("%d Nodes initialized in %.1f s, in %d zones of %d vCenters", len(vms), time.Since(w.daemon.Started).Seconds(),
		len(zones), len(s.Fleet.VCenters()))
	return nil
}

// startKwok starts the simulated kubelets of all registered Nodes. Nodes that specs create have none.
func (w *world) startKwok() error {
	stages, err := filepath.Glob(filepath.Join(w.dir, "stages", "*.yaml"))
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig=" + w.stack.Cluster.AdminKubeconfig(),
		"--manage-nodes-with-label-selector=" + v1.LabelHostname,
		"--node-lease-duration-seconds=40",
		"--cidr=10.64.0.1/16",
	}
	deletion, err := filepath.Abs(deleteStage)
	if err != nil {
		return err
	}
	for _, file := range append(stages, deletion) {
		args = append(args, "--config="+file)
	}
	w.kwok, err = process.Start(w.dir, nil, "kwok", filepath.Join(w.dir, "kwok"), args...)
	return err
}

// writeConfig writes a configuration for labels and addresses of both families, and returns its path.
func writeConfig(s *stack.Stack) (string, error) {
	path, err := s.WriteConfig(labels)
	if err != nil {
		return "", err
	}
	text := strings.Replace(string(s.Config()), "global:\n", "global:\n  ipFamily: [ipv4, ipv6]\n", 1)
	return path, os.WriteFile(path, []byte(text+labels), 0o600)
}

// addIPv6 gives each VM an IPv6 address, because the demo's VMs have only IPv4.
func addIPv6(s *stack.Stack) error {
	next := 1
	for _, v := range s.Fleet.VCenters() {
		for _, m := range v.VMs() {
			if err := v.SetIPs(m.Name, m.IPs[0], fmt.Sprintf("fd00::%x", next)); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// run runs e2e.test and returns the results by spec.
func (w *world) run(ctx context.Context, focus []string) (map[string]result, error) {
	report := filepath.Join(w.stack.Dir, "report.json")
	args := append([]string{
		"--kubeconfig=" + w.stack.Cluster.AdminKubeconfig(),
		"--provider=skeleton",
		"--e2e-output-dir=" + w.stack.Dir,
		"--ginkgo.json-report=" + report,
		"--ginkgo.timeout=" + playLimit.String(),
		"--ginkgo.no-color",
		"--ginkgo.v",
	}, focus...)
	p, err := process.Start(w.dir, nil, "e2e", filepath.Join(w.dir, "e2e.test"), args...)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Exited():
	case <-w.kwok.Exited():
		return nil, errors.Join(w.kwok.Failure(), p.Stop(0))
	case <-w.daemon.Exited():
		return nil, errors.Join(errors.New("the daemon has exited"), p.Stop(0))
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), p.Stop(time.Minute))
	}
	results, err := readReport(report)
	if err != nil {
		// The suite ended before its first spec.
		return nil, errors.Join(p.Failure(), err)
	}
	return results, nil
}

// stop stops all programs, and returns an error unless the daemon exited with 0 on SIGTERM.
func (w *world) stop() error {
	var errs []error
	if w.daemon != nil {
		_, err := w.daemon.Stop()
		errs = append(errs, err, os.WriteFile(filepath.Join(w.dir, "daemon.log"), []byte(w.daemon.Log()), 0o600))
	}
	if w.kwok != nil {
		errs = append(errs, w.kwok.Stop(0))
	}
	return errors.Join(append(errs, w.stack.Stop())...)
}
