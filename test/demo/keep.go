package main

import (
	"context"
	"errors"
	"os"

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
		d.print("The daemon has ended on its own.")
	default:
	}
	return c.release() //nolint:contextcheck // the context is done
}

func (d *demo) explain(daemon *stack.Daemon) error {
	if err := d.writeConfig(); err != nil {
		return err
	}
	d.step("Everything stays up (DEMO_KEEP is set). Ctrl-C ends it. To look around, in another terminal at the same place:")
	d.print(`
  export PATH=$PWD/bin:$PWD/bin/tools:$PATH KUBECONFIG=%[1]s/kubeconfig
  vzones nodes -c %[1]s/vsphere.yaml
  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone

If there is no kubectl: make helm builds bin/tools/kubectl, and status, typed here, shows the same.
The daemon's log is %[2]s.
`, d.folder, daemon.LogPath())
	return nil
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
	d.step("No cloud controller manager runs, so %d Nodes wait. Ctrl-C ends all this. In another terminal, at the same place:", len(d.stack.Fleet.Machines()))
	d.print(`
  export PATH=$PWD/bin:$PWD/bin/tools:$PATH KUBECONFIG=%[1]s/kubeconfig
  vzones check -c %[1]s/vsphere.yaml
  helm install vzones manifests/chart --namespace kube-system --values %[1]s/values.yaml
  kubectl -n kube-system rollout status daemonset/vsphere-cloud-controller-manager
  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone

There is no kubelet and no image: Pods of vzones and of the vSphere CPI are run by this demo, with the
programs in bin/, and what it prints below says where their logs are, since kubectl logs does not work.
Other Pods stay Pending. If it prints "operation not permitted" for them, this system restricts user
namespaces: run the demo as root.
`, d.folder)
	if _, err := os.Stat(helm); err != nil {
		d.print("Helm is not built yet: make helm\n")
	}
	if _, err := os.Stat(d.folder + "/cpi.yaml"); err != nil {
		d.print("To begin with the vSphere CPI instead, end this, run make incumbent, and start this again.\n")
	} else {
		d.print("To begin with the vSphere CPI instead: kubectl apply -f %s/cpi.yaml\n", d.folder)
	}
	err = d.runPods(ctx)
	d.step("Stopped the Pods; stops the control plane and removes %s.", d.folder)
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
		d.print("          vCenter %-6s https://%s:%d, %d VMs, %d ms a request", v.Name(), v.Host(), v.Port(), len(v.Machines()), delay.Milliseconds())
	}
	d.print("          API server %s, RBAC on", d.stack.Cluster.AdminConfig().Host)
}
