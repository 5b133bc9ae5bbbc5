package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"vzones/test/stack"
)

// Values of DEMO_KEEP. Any other value keeps everything.
const (
	keepNothing = ""
	// keepCluster keeps the control plane and the vCenters, without the daemon.
	keepCluster = "cluster"
)

func (d *demo) hold(ctx context.Context, daemon *stack.Daemon) (err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(d.folder)) }()
	if err := d.explain(daemon); err != nil {
		return err
	}
	c := &console{out: d.out, stack: d.stack}
	c.run(ctx, os.Stdin, daemon.Exited())
	select {
	case <-daemon.Exited():
		d.print("The daemon exited unexpectedly.")
	default:
	}
	return c.release() //nolint:contextcheck // the context is done
}

func (d *demo) explain(daemon *stack.Daemon) error {
	if err := d.writeConfig(); err != nil {
		return err
	}
	d.step("Everything keeps running (DEMO_KEEP is set) until Ctrl-C. To explore, run in another terminal in the same directory:")
	d.print(`
  export PATH=$PWD/bin:$PWD/bin/tools:$PATH KUBECONFIG=%[3]s
  vzones nodes -c %[1]s/vsphere.yaml
  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone

Without kubectl: make helm builds bin/tools/kubectl, and the command status below shows the same.
The daemon's log is %[2]s.
`, d.folder, daemon.LogPath(), d.kubeconfig())
	return nil
}

// kubeconfig returns a path that is valid in every directory of the reader's shell.
func (d *demo) kubeconfig() string {
	if filepath.IsAbs(d.folder) {
		return filepath.Join(d.folder, "kubeconfig")
	}
	return "$PWD/" + filepath.Join(d.folder, "kubeconfig")
}

// serveCluster keeps a control plane and vCenters with uninitialized Nodes, and acts as the kubelet for
// the cloud controller manager that the reader installs.
func (d *demo) serveCluster(ctx context.Context) (err error) {
	d.step("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and three simulated vCenters")
	if d.stack, err = startBare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stack.Stop()) }()
	d.announce()
	if err := d.registerAll(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(d.folder)) }()
	if err := d.writeFiles(ctx); err != nil {
		return err
	}
	d.step("No cloud controller manager is running, so %d Nodes are uninitialized. Ctrl-C stops everything. In another terminal in the same directory:", len(d.stack.Fleet.VMs()))
	d.print(`
  export PATH=$PWD/bin:$PWD/bin/tools:$PATH KUBECONFIG=%[2]s
  vzones check -c %[1]s/vsphere.yaml
  helm install vzones manifests/chart --namespace kube-system --values %[1]s/values.yaml
  kubectl -n kube-system rollout status daemonset/vsphere-cloud-controller-manager
  kubectl wait node --all --for=condition=vzones/TopologyReady --timeout=2m
  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone

There are no kubelets and no images: the demo itself runs the Pods of vzones and the vSphere CPI, with
the programs in bin/. kubectl logs does not work; the paths of the logs are printed below. Other Pods
stay Pending. If "operation not permitted" is printed for a Pod, this system restricts user namespaces:
run the demo as root.
`, d.folder, d.kubeconfig())
	if _, err := os.Stat(helm); err != nil {
		d.print("Helm is not built yet: make helm\n")
	}
	if _, err := os.Stat(d.folder + "/cpi.yaml"); err != nil {
		d.print("To start with the vSphere CPI instead: stop the demo, run make incumbent, and start the demo again.\n")
	} else {
		d.print("To start with the vSphere CPI instead: kubectl apply -f %s/cpi.yaml\n", d.folder)
	}
	err = d.runPods(ctx)
	d.step("Stopped the Pods; stopping the control plane and removing %s.", d.folder)
	return err
}

func (d *demo) runPods(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = d.agent().Run(ctx)
	}()
	c := &console{out: d.out, stack: d.stack}
	c.run(ctx, os.Stdin, ended)
	released := c.release() //nolint:contextcheck // the context is done
	cancel()
	<-ended
	return errors.Join(err, released)
}

func (d *demo) announce() {
	for _, v := range d.stack.Fleet.VCenters() {
		v.SetDelay(delay)
		d.print("          vCenter %-6s https://%s:%d, %d VMs, %d ms a request", v.Name(), v.Host(), v.Port(), len(v.VMs()), delay.Milliseconds())
	}
	d.print("          API server %s, RBAC on", d.stack.Cluster.AdminConfig().Host)
}
