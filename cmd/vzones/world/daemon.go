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

	"vzones/cmd/vsphere-cloud-controller-manager/app/settings"
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

// Daemon is a cloud controller manager that is installed in the cluster.
type Daemon struct {
	Namespace string
	*CommandLine
	// Environ are the environment variables that affect its configuration.
	Environ []string

	client   kubernetes.Interface
	workload workload
	// pods are the Pods of the workload, which may be none.
	pods []*v1.Pod
	// pod is the newest Pod. Without Pods, it has the content of the workload's template and no name.
	pod       *v1.Pod
	container *v1.Container
	volumes   map[string]volume
}

// findDaemon finds the daemon in a namespace, by its Pods or else by its DaemonSet or Deployment. The tool sends the daemon's password to the servers in the
// configuration of its Pod, so an ambiguous match is an error. It never searches other namespaces, whose
// owners can set any label on a Pod.
func findDaemon(ctx context.Context, client kubernetes.Interface, namespace string) (*Daemon, error) {
	workloads := map[workload][]*v1.Pod{}
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
			if of := workloadOf(p); of != (workload{}) && !seen[p.Name] {
				workloads[of] = append(workloads[of], p)
				seen[p.Name] = true
			}
		}
	}
	templates := map[workload]*v1.Pod{}
	if len(workloads) == 0 {
		templates = templatesIn(ctx, client, namespace)
		for of := range templates {
			workloads[of] = nil
		}
	}
	found := slices.SortedFunc(maps.Keys(workloads), func(a, b workload) int { return strings.Compare(a.String(), b.String()) })
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no Pod of %s found in namespace %s with the labels %s: set the daemon's namespace with -n, or use --config FILE", daemonProgram, quote.Name(namespace), strings.Join(podSelectors, " or "))
	case 1:
		return newDaemon(ctx, client, found[0], workloads[found[0]], templates[found[0]])
	}
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].String()
	}
	return nil, fmt.Errorf("%d cloud controller managers for vSphere run in namespace %s: %s: use --config FILE to select a configuration", len(names), quote.Name(namespace), quote.Some(names, quote.Most))
}

// workloadOf returns the workload of a daemon's Pod. It returns zero for other Pods, finished Pods, and
// static Pods, which any kubelet can create with any label.
func workloadOf(p *v1.Pod) workload {
	of := ownerOf(p)
	if hasEnded(p) || containerOf(p) == nil || p.Annotations[v1.MirrorPodAnnotationKey] != "" || of.kind == kindNode {
		return workload{}
	}
	return of
}

func hasEnded(p *v1.Pod) bool {
	return p.DeletionTimestamp != nil || p.Status.Phase == v1.PodSucceeded || p.Status.Phase == v1.PodFailed
}

// ownerOf returns the owner of a Pod, or the Pod itself.
func ownerOf(p *v1.Pod) workload {
	owner := metav1.GetControllerOf(p)
	switch {
	case owner == nil:
		return workload{"Pod", p.Name}
	case owner.Kind == "ReplicaSet" && p.Labels["pod-template-hash"] != "": // During a rollout two ReplicaSets belong to one Deployment.
		if name, cut := strings.CutSuffix(owner.Name, "-"+p.Labels["pod-template-hash"]); cut {
			return workload{kindDeployment, name}
		}
	}
	return workload{owner.Kind, owner.Name}
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

// newDaemon reads the flags and the environment of the newest Pod, or of the template if there are no Pods.
func newDaemon(ctx context.Context, client kubernetes.Interface, of workload, pods []*v1.Pod, template *v1.Pod) (*Daemon, error) {
	pod := template
	if len(pods) > 0 {
		pod = slices.MinFunc(pods, func(a, b *v1.Pod) int {
			return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
	}
	d := &Daemon{Namespace: pod.Namespace, client: client, workload: of, pods: pods, pod: pod, container: containerOf(pod), volumes: map[string]volume{}}
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

func (d *Daemon) String() string {
	if d.pod.Name == "" {
		return d.Workload()
	}
	return "Pod " + d.Namespace + "/" + d.pod.Name
}

// CommandLine contains the daemon's flags that affect Nodes and the leader election.
type CommandLine struct {
	settings.Flags
	CloudProvider, CloudConfig string
	// Kubeconfig is empty if the daemon uses its ServiceAccount.
	Kubeconfig string
	// LeaderElect reports whether only the holder of the Lease is active.
	LeaderElect               bool
	LeaseNamespace, LeaseName string
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
	set.StringVar(&c.Kubeconfig, "kubeconfig", "", "")
	set.BoolVar(&c.LeaderElect, "leader-elect", true, "")
	set.StringVar(&c.LeaseNamespace, "leader-elect-resource-namespace", metav1.NamespaceSystem, "")
	set.StringVar(&c.LeaseName, "leader-elect-resource-name", "cloud-controller-manager", "")
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
