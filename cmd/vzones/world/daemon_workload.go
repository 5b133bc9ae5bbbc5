package world

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"vzones/internal/quote"
)

const (
	kindDaemonSet  = "DaemonSet"
	kindDeployment = "Deployment"
	kindNode       = "Node" // owns static Pods
)

// A workload identifies the object that creates the daemon's Pods, or a Pod without an owner.
type workload struct{ kind, name string }

func (w workload) String() string { return quote.Name(w.kind) + " " + quote.Name(w.name) }

// templatesIn returns a Pod with the content of the template of each DaemonSet and Deployment of the daemon.
// Objects that may not be listed are omitted.
func templatesIn(ctx context.Context, client kubernetes.Interface, namespace string) map[workload]*v1.Pod {
	templates := map[workload]*v1.Pod{}
	add := func(of workload, t *v1.PodTemplateSpec) {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: t.Labels, Annotations: t.Annotations}, Spec: t.Spec}
		if containerOf(p) != nil && slices.ContainsFunc(podSelectors, func(s string) bool { return matches(s, p.Labels) }) {
			templates[of] = p
		}
	}
	if sets, err := client.AppsV1().DaemonSets(namespace).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range sets.Items {
			add(workload{kindDaemonSet, sets.Items[i].Name}, &sets.Items[i].Spec.Template)
		}
	}
	if deployments, err := client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range deployments.Items {
			add(workload{kindDeployment, deployments.Items[i].Name}, &deployments.Items[i].Spec.Template)
		}
	}
	return templates
}

func matches(selector string, set map[string]string) bool {
	parsed, err := labels.Parse(selector)
	return err == nil && parsed.Matches(labels.Set(set))
}

// incumbentImages are parts of the names of the vSphere CPI's images, including images of distributions.
var incumbentImages = []string{"cloud-provider-vsphere", "cloud-pv-vsphere", "/cpi/"}

// IsIncumbent reports whether the daemon is the vSphere CPI. The manifest and the chart of vzones give their Pods
// the variable POD_UID, except with a kubeconfig.
func (d *Daemon) IsIncumbent() bool {
	isOurs := slices.ContainsFunc(d.container.Env, func(e v1.EnvVar) bool { return e.Name == "POD_UID" })
	return !isOurs && slices.ContainsFunc(incumbentImages, func(part string) bool { return strings.Contains(d.container.Image, part) })
}

// Workload returns the kind, namespace and name of the daemon's workload.
func (d *Daemon) Workload() string {
	return quote.Name(d.workload.kind) + " " + d.Namespace + "/" + quote.Name(d.workload.name)
}

// Image returns the image of the daemon's container.
func (d *Daemon) Image() string { return d.container.Image }

// ServiceAccount returns the name of the daemon's ServiceAccount.
func (d *Daemon) ServiceAccount() string {
	if name := d.pod.Spec.ServiceAccountName; name != "" {
		return name
	}
	return "default"
}

// PodSpec returns the specification of the daemon's newest Pod, or of its template if there are no Pods.
func (d *Daemon) PodSpec() *v1.PodSpec { return &d.pod.Spec }
