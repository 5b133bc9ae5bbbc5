// Package running finds the daemon that runs in a cluster by its Pods, and reads what that was
// started with: its flags, its environment, and the files of its volumes. It owns what counts as a
// Pod of the daemon, be it vzones or the vSphere CPI. It writes nothing, and keeps secrets in
// memory only.
package running

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vzones/topology/quote"
)

// selectors are by which labels Pods of the daemon are looked for, in that order: those of our
// manifest and chart, and of the vSphere CPI's manifest and chart; of its manifest before; of its
// chart before; of OpenShift; of Rancher's chart.
var selectors = []string{
	"component=cloud-controller-manager",
	"k8s-app=vsphere-cloud-controller-manager",
	"app=vsphere-cpi",
	"infrastructure.openshift.io/cloud-controller-manager=VSphere",
	"component=rancher-vsphere-cpi-cloud-controller-manager",
}

// program is the daemon's, and the vSphere CPI's.
const program = "vsphere-cloud-controller-manager"

// Where says where the daemon is looked for. The zero value is everywhere, by the labels that
// manifests and charts give it.
type Where struct{ Namespace, Selector string }

func (w Where) String() string {
	where := "all namespaces"
	if w.Namespace != "" {
		where = "namespace " + w.Namespace
	}
	return where + " by the labels " + strings.Join(w.selectors(), " or ")
}

func (w Where) selectors() []string {
	if w.Selector != "" {
		return []string{w.Selector}
	}
	return selectors
}

// A Daemon is one that runs in the cluster.
type Daemon struct {
	// Namespace is that of the Pods, and Pods are the names of all that belong together, sorted.
	Namespace string
	Pods      []string
	// CommandLine is what it was started with.
	*CommandLine
	// Environ are the environment variables that concern its configuration.
	Environ []string

	client    kubernetes.Interface
	pod       *v1.Pod
	container *v1.Container
	// variables are those of the container, as far as they were read.
	variables map[string]string
	// volumes are those that were read, by their names.
	volumes map[string]volume
}

// Find finds the daemon.
func Find(ctx context.Context, client kubernetes.Interface, where Where) (*Daemon, error) {
	var groups map[string][]*v1.Pod
	for _, selector := range where.selectors() {
		pods, err := client.CoreV1().Pods(where.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		switch {
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("looking for the Pods of the daemon: %w: write --namespace, or use an account that may list Pods", err)
		case err != nil:
			return nil, fmt.Errorf("looking for the Pods of the daemon: %w", err)
		}
		if groups = grouped(pods.Items); len(groups) > 0 {
			break
		}
	}
	switch len(groups) {
	case 0:
		return nil, fmt.Errorf("no Pod of %s is found in %s: write --namespace and --selector, or --config with the configuration file", program, where)
	case 1:
		for _, pods := range groups {
			return newDaemon(ctx, client, pods)
		}
	}
	var names []string
	for _, pods := range groups {
		names = append(names, pods[0].Namespace+"/"+pods[0].Name)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("%d cloud controller managers for vSphere are found, with the Pods %s: write --namespace or --selector", len(groups), quote.Some(names, quote.Most))
}

// grouped returns the Pods of the daemon by what has made them, the newest first.
func grouped(pods []v1.Pod) map[string][]*v1.Pod {
	groups := map[string][]*v1.Pod{}
	for i := range pods {
		p := &pods[i]
		if p.DeletionTimestamp != nil || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed || containerOf(p) == nil {
			continue
		}
		maker := "Pod " + p.Name
		if owner := metav1.GetControllerOf(p); owner != nil {
			name := owner.Name
			if hash := p.Labels["pod-template-hash"]; hash != "" {
				name = strings.TrimSuffix(name, "-"+hash) // two ReplicaSets of one Deployment are one
			}
			maker = owner.Kind + " " + name
			if owner.Kind == "Node" {
				maker = "static Pod"
			}
		}
		groups[p.Namespace+"/"+maker] = append(groups[p.Namespace+"/"+maker], p)
	}
	for _, of := range groups {
		slices.SortFunc(of, func(a, b *v1.Pod) int {
			return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
	}
	return groups
}

// containerOf returns the container that the daemon runs in, nil if there is none. Flags that cannot
// be read yet, since a variable in them comes from elsewhere, do not matter.
func containerOf(p *v1.Pod) *v1.Container {
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		plain := map[string]string{}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				plain[e.Name], _ = expand(e.Value, plain)
			}
		}
		args := expandAll(slices.Concat(c.Command, c.Args), plain)
		if read, err := ParseArguments(args); err == nil && read.CloudProvider != "vsphere" {
			continue
		}
		named := slices.ContainsFunc(append(args, c.Image, c.Name), func(s string) bool {
			return strings.Contains(s, program) || s == "--cloud-provider=vsphere"
		})
		if named {
			return c
		}
	}
	return nil
}

// newDaemon reads what the newest of the Pods was started with.
func newDaemon(ctx context.Context, client kubernetes.Interface, pods []*v1.Pod) (*Daemon, error) {
	pod := pods[0]
	d := &Daemon{Namespace: pod.Namespace, client: client, pod: pod, container: containerOf(pod), volumes: map[string]volume{}}
	for _, p := range pods {
		d.Pods = append(d.Pods, p.Name)
	}
	slices.Sort(d.Pods)
	var err error
	if d.variables, err = d.readEnvironment(ctx); err != nil {
		return nil, d.failed(err)
	}
	args := expandAll(slices.Concat(d.container.Command, d.container.Args), d.variables)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = args[1:] // the program
	}
	if d.CommandLine, err = ParseArguments(args); err != nil {
		return nil, d.failed(err)
	}
	if d.CloudConfig != "" && !path.IsAbs(d.CloudConfig) {
		d.CloudConfig = path.Join("/", d.container.WorkingDir, d.CloudConfig)
	}
	return d, nil
}

// String names the daemon by the Pod that was looked at.
func (d *Daemon) String() string { return "Pod " + d.Namespace + "/" + d.pod.Name }

// ServiceAccount returns the name of the Pod's ServiceAccount.
func (d *Daemon) ServiceAccount() string { return cmp.Or(d.pod.Spec.ServiceAccountName, "default") }

func (d *Daemon) failed(err error) error { return fmt.Errorf("%s: %w", d, err) }
