package world

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"vzones/config"
)

// stateOf returns the state of the daemon among objects.
func stateOf(t *testing.T, objects ...runtime.Object) (*Daemon, *DaemonState) {
	t.Helper()
	d, err := findDaemon(t.Context(), fake.NewClientset(objects...), metav1.NamespaceSystem)
	if err != nil {
		t.Fatal(err)
	}
	return d, d.readState(t.Context(), &config.Config{}, 20*time.Millisecond)
}

// A workload without Pods is found by its template, unless a Pod of another workload runs.
func TestFindWithoutPods(t *testing.T) {
	template := aPod("")
	meta := metav1.ObjectMeta{Name: "ccm", Namespace: metav1.NamespaceSystem}
	set := &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: v1.PodTemplateSpec{ObjectMeta: template.ObjectMeta, Spec: template.Spec}}}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: set.Spec.Template}}
	other := set.DeepCopy()
	other.Name = "other"
	other.Spec.Template.Labels = map[string]string{"app": "other"}
	for name, c := range map[string]struct {
		objects []runtime.Object
		want    string
	}{
		"a DaemonSet":         {[]runtime.Object{set, other}, "DaemonSet kube-system/ccm"},
		"a Deployment":        {[]runtime.Object{deployment}, "Deployment kube-system/ccm"},
		"a Pod of a workload": {[]runtime.Object{set, aPod("a", ownedBy("DaemonSet", "new"))}, "Pod kube-system/a"},
	} {
		t.Run(name, func(t *testing.T) {
			if d, _ := stateOf(t, c.objects...); d.String() != c.want {
				t.Errorf("found %s, want %s", d, c.want)
			}
		})
	}
}

// The holder of the Lease is the daemon's if it names a Pod, or its host if the Pod does not know its name.
func TestLeaseHolder(t *testing.T) {
	named := func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "POD_NAME"}} }
	onHost := func(p *v1.Pod) {
		p.Spec.HostNetwork = true
		p.Spec.NodeName = "cp-1"
	}
	for name, c := range map[string]struct {
		pod          *v1.Pod
		holder       string
		age          time.Duration
		isHeld, isOf bool
	}{
		"a Pod":                       {aPod("a", named), "a_1", 0, true, true},
		"a host":                      {aPod("a", onHost), "CP-1.example.com_1", 0, true, true},
		"a host of a Pod with a name": {aPod("a", onHost, named), "cp-1_1", 0, true, false},
		"another name of the host":    {aPod("a", onHost), "host-1_1", 0, true, true},
		"another Pod":                 {aPod("a", named), "b_1", 0, true, false},
		"expired":                     {aPod("a"), "a_1", time.Minute, false, true},
		"released":                    {aPod("a"), "", 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.pod.Spec.Containers[0].Args = []string{"--cloud-provider=vsphere"}
			seconds := int32(15)
			renewed := metav1.NewMicroTime(time.Now().Add(-c.age))
			_, s := stateOf(t, c.pod, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: "cloud-controller-manager", Namespace: metav1.NamespaceSystem},
				Spec:       coordinationv1.LeaseSpec{HolderIdentity: &c.holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
			})
			if l := s.Lease; l == nil || l.IsHeld != c.isHeld || l.IsOwn != c.isOf {
				t.Errorf("got the Lease %+v, want held %t and the daemon's %t", l, c.isHeld, c.isOf)
			}
		})
	}
}

// Other cloud controller managers are found by their program or image, in the daemon's namespace and in kube-system.
func TestNeighbors(t *testing.T) {
	of := func(namespace, name, image string, words ...string) *v1.Pod {
		return &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Image: image, Command: words}}},
		}
	}
	const system = metav1.NamespaceSystem
	ended := of(system, "ended", "aws-cloud-controller-manager")
	ended.Status.Phase = v1.PodFailed
	static := of(system, "cloud-controller-manager-cp-1", "rancher/rke2-cloud-provider:v1.37.1", "cloud-controller-manager", "--leader-elect-resource-name=rke2-cloud-controller-manager")
	static.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "cp-1", Controller: new(true)}}
	owned := func(name string) *v1.Pod {
		p := of(system, name, "registry:5000/aws/cloud-controller-manager:v1.37.0@sha256:00", "/bin/aws-cloud-controller-manager", "--v=2")
		ownedBy("DaemonSet", "aws-ccm")(p)
		return p
	}
	_, s := stateOf(t,
		aPod("a", func(p *v1.Pod) { p.Spec.Containers[0].Args = []string{"--cloud-provider=vsphere"} }),
		owned("aws-1"), owned("aws-2"), static, ended,
		of(system, "hcloud", "hetznercloud/hcloud-cloud-controller-manager:v2", "/bin/hcloud-cloud-controller-manager", "--leader-elect=false"),
		of(system, "kube-controller-manager", "kube-controller-manager:v1.37.1", "kube-controller-manager", "--cloud-provider=external"),
		of("other", "elsewhere", "aws-cloud-controller-manager"),
	)
	want := []Neighbor{
		{"DaemonSet kube-system/aws-ccm", "registry:5000/aws/cloud-controller-manager:v1.37.0@sha256:00", true},
		{"Pod kube-system/cloud-controller-manager-cp-1", "rancher/rke2-cloud-provider:v1.37.1", false},
		{"Pod kube-system/hcloud", "hetznercloud/hcloud-cloud-controller-manager:v2", false},
	}
	if diff := cmp.Diff(want, s.Neighbors); diff != "" {
		t.Errorf("other cloud controller managers (-want +got):\n%s", diff)
	}
}

// With a kubeconfig, the Lease and the permissions are in another cluster.
func TestElsewhere(t *testing.T) {
	_, s := stateOf(t, aPod("a"))
	if !s.IsElsewhere || s.Reviewed != 0 || s.Lease != nil {
		t.Errorf("with a kubeconfig: got %+v, want neither a Lease nor permissions", s)
	}
}

func TestLastError(t *testing.T) {
	const klogLine = `E0102 03:04:05.678901       1 run.go:72] "command failed" err="nodes is forbidden"`
	for log, want := range map[string]string{
		"":                           "",
		"a\nb\n\n":                   "b",
		klogLine + "\nI0102 later":   `"command failed" err="nodes is forbidden"`,
		"Error: no Lease\nstopped":   "Error: no Lease",
		"Events of Nodes are stored": "Events of Nodes are stored",
	} {
		if got := lastError(strings.NewReader(log)); got != want {
			t.Errorf("log %q: got %q, want %q", log, got, want)
		}
	}
}
