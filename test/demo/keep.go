package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// What DEMO_KEEP may be. Any other value keeps everything.
const (
	keepNothing = ""
	keepCluster = "cluster" // the control plane and the vCenters, without the daemon
)

// hold leaves everything running until the user ends it.
func (d *demo) hold(ctx context.Context, daemon *stack.Daemon) {
	d.step("Everything stays up (DEMO_KEEP is set). Ctrl-C ends it. To look around:")
	d.print("\n  export KUBECONFIG=%s\n  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone\n", d.stack.Cluster.AdminKubeconfig())
	d.print("  the daemon's log: %s\n", daemon.LogPath())
	go d.obey(os.Stdin)
	select {
	case <-ctx.Done():
	case <-daemon.Exited():
		d.print("The daemon has ended on its own.")
	}
}

// commands are those that are read from standard input.
const commands = `To move a tag, type here: retag VCENTER OBJECT CATEGORY TAG, such as
  retag paris /dc-1 k8s-zone paris-3`

// obey carries out the lines of an input until it ends.
func (d *demo) obey(in io.Reader) {
	d.print("%s\n", commands)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if words[0] != "retag" || len(words) != 5 {
			d.print("%s", commands)
			continue
		}
		if err := retag(d.stack.Fleet, words[1], words[2], words[3], words[4]); err != nil {
			d.print("retag: %v", err)
			continue
		}
		d.print("vCenter %s: %s has the tag %s of the category %s now, and no other one", words[1], words[2], words[4], words[3])
	}
}

// retag attaches a tag to an object, in the place of the one of its category. What there is
// not is an error that lists what there is.
func retag(f *fleet.Fleet, vcenter, object, category, tag string) error {
	var names []string
	for _, v := range f.VCenters() {
		names = append(names, v.Name())
	}
	if !slices.Contains(names, vcenter) {
		return fmt.Errorf("there is no vCenter %q, but %s", vcenter, strings.Join(names, ", "))
	}
	if categories := []string{regionCategory, zoneCategory}; !slices.Contains(categories, category) {
		return fmt.Errorf("there is no category %q, but %s", category, strings.Join(categories, ", "))
	}
	v := f.VCenter(vcenter)
	if _, err := v.Reference(object); err != nil {
		return fmt.Errorf("vCenter %s has no object %q, or several of that name; its objects are\n  / (the root folder)\n  %s", vcenter, object, strings.Join(v.Objects(), "\n  "))
	}
	return v.Retag(object, category, tag)
}

// serveCluster keeps a control plane and vCenters, whose Nodes wait. It plays the kubelet for
// the Pods of cloud controller managers, since the reader installs one.
func (d *demo) serveCluster(ctx context.Context) (err error) {
	if err := d.buildPrograms(ctx); err != nil {
		return err
	}
	d.step("Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and three simulated vCenters")
	if d.stack, err = startBare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stack.Stop()) }()
	d.announce()
	if err := d.registerAll(ctx); err != nil {
		return err
	}
	files, err := d.writeFiles(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(files)) }()
	d.step("No cloud controller manager runs, so %d Nodes wait. Ctrl-C ends all this. In another terminal, at the same place:", len(d.stack.Fleet.Machines()))
	d.print(`
  export KUBECONFIG=$PWD/%[1]s/kubeconfig
  bin/tools/helm install vzones manifests/chart --namespace kube-system --values %[1]s/values.yaml
  kubectl -n kube-system rollout status daemonset/vsphere-cloud-controller-manager
  kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone

There is no kubelet and no image: Pods of vzones and of the vSphere CPI are run by this demo, with the
programs in bin/, and what it prints below says where their logs are, since kubectl logs does not work.
Other Pods stay Pending. If it prints "operation not permitted" for them, this system restricts user
namespaces: run the demo as root.
`, files)
	if _, err := os.Stat(helm); err != nil {
		d.print("Helm is not built yet: make helm\n")
	}
	if _, err := os.Stat(files + "/cpi.yaml"); err != nil {
		d.print("To begin with the vSphere CPI instead, end this, run make incumbent, and start this again.\n")
	} else {
		d.print("To begin with the vSphere CPI instead: kubectl apply -f %s/cpi.yaml\n", files)
	}
	go d.obey(os.Stdin)
	err = d.agent().Run(ctx)
	d.step("Stopped the Pods; stops the control plane and removes %s.", files)
	return err
}

// announce prints the vCenters and the API server.
func (d *demo) announce() {
	for _, v := range d.stack.Fleet.VCenters() {
		v.SetDelay(delay)
		d.print("          vCenter %-6s https://%s:%d, %d machines, %d ms a request", v.Name(), v.Host(), v.Port(), len(v.Machines()), delay.Milliseconds())
	}
	d.print("          API server %s, RBAC on", d.stack.Cluster.AdminConfig().Host)
}
