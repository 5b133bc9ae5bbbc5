//go:build linux

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/process"
	"vzones/test/stack"
)

//go:embed fleet.yaml
var fleetYAML string

const (
	namespace = "kube-system"
	// workload is the name of the DaemonSet, its container and its Pods' label name.
	workload = "vsphere-cloud-controller-manager"
	// VMs of fleet.yaml: the one with the DaemonSet's Pod, the one that ends, and the one that reports its UUID in the other byte
	// order.

	controlPlane = "control-plane"
	lostVM       = "worker-1"
	swappedVM    = "worker-2"

	regionCategory = "k8s-region"
	zoneCategory   = "k8s-zone"

	stepTimeout  = 3 * time.Minute
	pollInterval = 100 * time.Millisecond
)

// A world is a control plane and vCenters, with a VM for each Node.
type world struct {
	*options
	out   io.Writer
	stack *stack.Stack
	// service is the Service of the API server.
	service net.Listener
	vms     map[string]*process.Process // running VMs by the name of their Nodes
	logs    string                      // folder of the VMs' logs
}

// play installs vzones from the plain manifest and from the chart, each into a new world.
func play(ctx context.Context, o *options, out io.Writer) error {
	began := time.Now()
	for _, installation := range []struct {
		name  string
		steps func(*world) []step
	}{{"the plain manifest", (*world).manifestSteps}, {"the chart", (*world).chartSteps}} {
		fmt.Fprintf(out, "\nFrom %s\n", installation.name)
		w := &world{options: o, out: out, vms: map[string]*process.Process{}, logs: filepath.Join(o.dir, "logs")}
		if err := w.play(ctx, installation.steps(w)); err != nil {
			return fmt.Errorf("from %s: %w", installation.name, err)
		}
	}
	fmt.Fprintf(out, "\nAll steps passed in %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// A step does something and returns what it saw.
type step struct {
	goal string
	do   func(context.Context) (string, error)
}

func (w *world) play(ctx context.Context, steps []step) (err error) {
	defer func() { err = errors.Join(err, w.stop()) }()
	for _, s := range steps {
		began := time.Now()
		bounded, cancel := context.WithTimeout(ctx, stepTimeout)
		saw, err := s.do(bounded)
		cancel()
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", s.goal, ctx.Err())
		}
		if err != nil {
			return fmt.Errorf("%s, after %.1f s: %w%s", s.goal, time.Since(began).Seconds(), err, w.state(context.WithoutCancel(ctx)))
		}
		fmt.Fprintf(w.out, "[%5.1f s] %s: %s\n", time.Since(began).Seconds(), s.goal, saw)
	}
	return nil
}

func (w *world) stop() error {
	var errs []error
	for _, vm := range w.vms {
		errs = append(errs, vm.Stop(0))
	}
	if w.service != nil {
		errs = append(errs, w.service.Close())
	}
	if w.stack != nil {
		errs = append(errs, w.stack.Stop())
	}
	return errors.Join(errs...)
}

func (w *world) start(ctx context.Context) (saw string, err error) {
	if err := os.MkdirAll(w.logs, 0o700); err != nil {
		return "", err
	}
	if err := writePauseImage(filepath.Join(w.dir, "pause.tar"), filepath.Join(w.dir, "pause")); err != nil {
		return "", err
	}
	w.stack, err = stack.Start(ctx, stack.Options{Fleet: fleetYAML, Bare: true, Cluster: cluster.Options{
		Controllers: []string{
			cluster.NodeLifecycle, "taint-eviction-controller", "daemonset-controller", "serviceaccount-controller",
			"root-ca-certificate-publisher-controller", "garbage-collector-controller", "pod-garbage-collector-controller",
		},
		Flags: map[string][]string{
			cluster.APIServer: {"--kubelet-preferred-address-types=InternalIP"},
			// Two renewals of a kubelet's Lease.
			cluster.ControllerManager: {"--node-monitor-period=1s", "--node-monitor-grace-period=16s"},
		},
	}})
	if err != nil {
		return "", err
	}
	for _, start := range []func(context.Context) error{w.stack.Cluster.StartControllerManager, w.stack.Cluster.StartScheduler} {
		if err := start(ctx); err != nil {
			return "", err
		}
	}
	server, err := url.Parse(w.stack.Cluster.AdminConfig().Host)
	if err != nil {
		return "", err
	}
	version, err := w.stack.Client.Discovery().ServerVersion()
	if err != nil {
		return "", err
	}
	w.service, err = forward(ctx, server.Host)
	return fmt.Sprintf("Kubernetes %s, vCenters %s", version, strings.Join(w.stack.Fleet.Names(), " and ")), err
}

// startVMs starts a kubelet for each VM and waits for the Nodes as the kubelets registered them.
func (w *world) startVMs(ctx context.Context) (string, error) {
	for _, vm := range w.stack.Fleet.VMs() {
		if err := w.startVM(vm); err != nil {
			return "", err
		}
	}
	var seen string
	err := w.await(ctx, func(ctx context.Context) error {
		nodes, err := w.stack.Nodes(ctx)
		if err != nil {
			return err
		}
		var all []string
		for _, vm := range w.stack.Fleet.VMs() {
			n := nodes[vm.Name]
			if n == nil {
				return fmt.Errorf("no Node %s", vm.Name)
			}
			if !nodeinfo.IsReady(n) {
				return fmt.Errorf("the Node %s is not ready: %v", n.Name, n.Status.Conditions)
			}
			if stack.Initialized(n) || n.Spec.ProviderID != "" {
				return fmt.Errorf("the Node %s is initialized without a cloud controller manager", n.Name)
			}
			all = append(all, n.Name+" "+n.Status.NodeInfo.SystemUUID)
			seen = n.Status.NodeInfo.KubeletVersion + ", " + n.Status.NodeInfo.ContainerRuntimeVersion
		}
		seen += ": " + strings.Join(all, ", ")
		return nil
	})
	if err != nil {
		return "", err
	}
	role := []byte(`{"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}`)
	_, err = w.stack.Client.CoreV1().Nodes().Patch(ctx, controlPlane, types.MergePatchType, role, metav1.PatchOptions{})
	return seen, err
}

func (w *world) startVM(vm fleet.VM) error {
	kubeconfig := filepath.Join(w.stack.Dir, vm.Name+".kubeconfig")
	if err := w.stack.Cluster.WriteKubeletKubeconfig(kubeconfig, vm.Name); err != nil {
		return err
	}
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return err
	}
	o := nodeOptions{
		Name: vm.Name, Bin: w.bin, SystemUUID: vm.UUID, Address: vm.IPs[0], Kubeconfig: content,
		Archives: []string{filepath.Join(w.dir, "pause.tar"), w.archive},
		Tags:     map[string]string{normalized(w.nextImage()): normalized(w.image)},
	}
	switch vm.Name {
	case controlPlane:
		o.NodeIP = vm.IPs[0]
	case swappedVM:
		o.SystemUUID = vm.SwappedUUID()
	}
	if err := addAddresses(vm.IPs[0]); err != nil {
		return err
	}
	for i := range o.Archives {
		if o.Archives[i], err = filepath.Rel(w.bin, o.Archives[i]); err != nil {
			return err
		}
	}
	description, err := json.Marshal(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.vms[vm.Name], err = process.Start(w.logs, nil, vm.Name, self, roleVM, string(description))
	return err
}

// nextImage is another name of the image, for an update.
func (w *world) nextImage() string { return w.image + "-next" }

// normalized returns the name of an image in containerd.
func normalized(image string) string {
	if first, _, found := strings.Cut(image, "/"); found && strings.ContainsAny(first, ".:") {
		return image
	}
	return "docker.io/library/" + image
}

// await repeats try until it succeeds, a VM ends, or the context is done.
func (w *world) await(ctx context.Context, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		for _, vm := range w.vms {
			select {
			case <-vm.Exited():
				return false, vm.Failure()
			default:
			}
		}
		if answer := try(ctx); answer == nil || ctx.Err() == nil { // otherwise the error is just the end of the context
			last = answer
		}
		return last == nil, nil
	})
	if wait.Interrupted(err) {
		return errors.Join(err, last)
	}
	return err
}

// state describes the Pods after a failure.
func (w *world) state(ctx context.Context) string {
	if w.stack == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var b strings.Builder
	if pods, err := w.stack.Client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}); err == nil {
		for _, p := range pods.Items {
			fmt.Fprintf(&b, "\nPod %s on %s: %s", p.Name, p.Spec.NodeName, p.Status.Phase)
			for _, c := range p.Status.ContainerStatuses {
				state, _ := json.Marshal([]v1.ContainerState{c.State, c.LastTerminationState})
				fmt.Fprintf(&b, ", %d restarts, %s", c.RestartCount, state)
			}
		}
	}
	if events, err := w.stack.Client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "type=Warning,involvedObject.kind=Pod"}); err == nil {
		for _, e := range events.Items {
			fmt.Fprintf(&b, "\nEvent of Pod %s: %s: %s", e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
	fmt.Fprintf(&b, "\nThe logs of the kubelets and of containerd are in %s.", w.logs)
	return b.String()
}
