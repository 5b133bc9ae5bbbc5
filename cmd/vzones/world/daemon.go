package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	cliflag "k8s.io/component-base/cli/flag"

	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/internal/quote"
)

// podSelectors are the labels of the daemon's Pods, by their origin: our manifest and chart, and the
// vSphere CPI's current manifest and chart; its earlier manifest; its earlier chart; OpenShift;
// Rancher's chart.
var podSelectors = []string{
	"component=cloud-controller-manager",
	"k8s-app=vsphere-cloud-controller-manager",
	"app=vsphere-cpi",
	"infrastructure.openshift.io/cloud-controller-manager=VSphere",
	"component=rancher-vsphere-cpi-cloud-controller-manager",
}

// daemonProgram is the executable of vzones' daemon and of the vSphere CPI.
const daemonProgram = "vsphere-cloud-controller-manager"

// Daemon is a cloud controller manager that runs in the cluster.
type Daemon struct {
	Namespace string
	*CommandLine
	// Environ are the environment variables that affect its configuration.
	Environ []string

	client    kubernetes.Interface
	pod       *v1.Pod
	container *v1.Container
	volumes   map[string]volume
}

// findDaemon finds the daemon in a namespace. The tool sends the daemon's password to the servers in the
// configuration of its Pod, so an ambiguous match is an error. It never searches other namespaces, whose
// owners can set any label on a Pod.
func findDaemon(ctx context.Context, client kubernetes.Interface, namespace string) (*Daemon, error) {
	workloads := map[string][]*v1.Pod{}
	seen := map[string]bool{}
	for _, selector := range podSelectors {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		switch {
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("looking for the daemon's Pods: %w: use an account that may list Pods there, or use --config FILE", err)
		case err != nil:
			return nil, fmt.Errorf("looking for the daemon's Pods: %w", err)
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if name := workloadOf(p); name != "" && !seen[p.Name] {
				workloads[name] = append(workloads[name], p)
				seen[p.Name] = true
			}
		}
	}
	names := slices.Sorted(maps.Keys(workloads))
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("no Pod of %s found in namespace %s with the labels %s: set the daemon's namespace with -n, or use --config FILE", daemonProgram, quote.Name(namespace), strings.Join(podSelectors, " or "))
	case 1:
		return newDaemon(ctx, client, workloads[names[0]])
	}
	return nil, fmt.Errorf("%d cloud controller managers for vSphere run in namespace %s: %s: use --config FILE to select a configuration", len(names), quote.Name(namespace), quote.Some(names, quote.Most))
}

// workloadOf returns the workload of a daemon's Pod, such as "DaemonSet x". It returns "" for other Pods,
// finished Pods, and static Pods, which any kubelet can create with any label.
func workloadOf(p *v1.Pod) string {
	owner := metav1.GetControllerOf(p)
	switch {
	case p.DeletionTimestamp != nil, p.Status.Phase == v1.PodSucceeded, p.Status.Phase == v1.PodFailed, containerOf(p) == nil:
		return ""
	case p.Annotations[v1.MirrorPodAnnotationKey] != "", owner != nil && owner.Kind == "Node":
		return ""
	case owner == nil:
		return "Pod " + quote.Name(p.Name)
	case owner.Kind == "ReplicaSet" && p.Labels["pod-template-hash"] != "": // During a rollout two ReplicaSets belong to one Deployment.
		if name, cut := strings.CutSuffix(owner.Name, "-"+p.Labels["pod-template-hash"]); cut {
			return "Deployment " + quote.Name(name)
		}
	}
	return quote.Name(owner.Kind) + " " + quote.Name(owner.Name)
}

// containerOf returns the daemon's container, or nil. It ignores flags that cannot be parsed yet because a
// variable in them is read from another object.
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
			return strings.Contains(s, daemonProgram) || s == "--cloud-provider=vsphere"
		})
		if named {
			return c
		}
	}
	return nil
}

// newDaemon reads the flags and the environment of the newest Pod.
func newDaemon(ctx context.Context, client kubernetes.Interface, pods []*v1.Pod) (*Daemon, error) {
	pod := slices.MinFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	d := &Daemon{Namespace: pod.Namespace, client: client, pod: pod, container: containerOf(pod), volumes: map[string]volume{}}
	variables, err := d.readEnvironment(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	args := expandAll(slices.Concat(d.container.Command, d.container.Args), variables)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = args[1:] // The first argument is the program.
	}
	if d.CommandLine, err = ParseArguments(args); err != nil {
		return nil, fmt.Errorf("%s: %w", d, err)
	}
	if d.CloudConfig != "" && !path.IsAbs(d.CloudConfig) {
		d.CloudConfig = path.Join("/", d.container.WorkingDir, d.CloudConfig)
	}
	return d, nil
}

func (d *Daemon) String() string { return "Pod " + d.Namespace + "/" + d.pod.Name }

// CommandLine contains the daemon's flags that affect Nodes.
type CommandLine struct {
	source.Flags
	CloudProvider, CloudConfig string
}

// ParseArguments parses the arguments after the program's name, and ignores flags that CommandLine lacks.
// An error names a flag but not its value, which may come from a Secret.
func ParseArguments(args []string) (*CommandLine, error) {
	var c CommandLine
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	set.ParseErrorsAllowlist.UnknownFlags = true
	sets := c.Sets()
	for _, flags := range sets.FlagSets {
		set.AddFlagSet(flags)
	}
	// The framework defines these flags in its server, which only the daemon links. A test of the daemon
	// compares the definitions.
	set.StringVar(&c.CloudProvider, "cloud-provider", "vsphere", "")
	set.StringVar(&c.CloudConfig, "cloud-config", "", "")
	if err := set.Parse(args); err != nil {
		return nil, fmt.Errorf("reading the daemon's flags: %s", withoutValue(err))
	}
	return &c, nil
}

// withoutValue replaces pflag's errors, which contain the values.
func withoutValue(err error) string {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		return fmt.Sprintf("the value of --%s is not a valid %s: correct the Pod's arguments", value.GetFlag().Name, value.GetFlag().Value.Type())
	case errors.As(err, &missing):
		return fmt.Sprintf("--%s has no value: correct the Pod's arguments", missing.GetFlag().Name)
	}
	return "an argument is not a valid flag: correct the Pod's arguments"
}
