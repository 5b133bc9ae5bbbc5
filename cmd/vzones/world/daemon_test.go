package world

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"vzones/config"
)

func aPod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system", Labels: map[string]string{"component": "cloud-controller-manager"}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "daemon", Image: "vsphere-cloud-controller-manager:v1",
			Args: []string{"--cloud-provider=vsphere", "--cloud-config=/etc/cloud/vsphere.conf", "--v=2", "--kubeconfig", "x", "--use-service-account-credentials"},
		}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

// ownedBy makes a Pod part of a workload.
func ownedBy(kind, name string) func(*v1.Pod) {
	controller := true
	return func(p *v1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &controller}}
	}
}

// TestFind finds the only workload in kube-system, and ignores Pods with the same labels elsewhere.
func TestFind(t *testing.T) {
	set := ownedBy("DaemonSet", "ccm")
	labeled := func(key, value string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Labels = map[string]string{key: value} }
	}
	// The hostile Pod names its own server and is the newest.
	hostile := func(p *v1.Pod) {
		p.CreationTimestamp = metav1.Now()
		p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "VSPHERE_VCENTER", Value: "hostile.example.com"}}
	}
	for name, c := range map[string]struct {
		pods []*v1.Pod
		want string // The Pod, or a part of the error.
	}{
		"two of one DaemonSet":   {[]*v1.Pod{aPod("a", set), aPod("b", set)}, "Pod kube-system/a"},
		"none":                   {nil, "no Pod of vsphere-cloud-controller-manager found in namespace kube-system with the labels component=cloud-controller-manager or k8s-app="},
		"of another cloud":       {[]*v1.Pod{aPod("a", func(p *v1.Pod) { p.Spec.Containers[0].Args = []string{"--cloud-provider=aws"} })}, "no Pod of"},
		"one that has ended":     {[]*v1.Pod{aPod("a", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed })}, "no Pod of"},
		"two workloads":          {[]*v1.Pod{aPod("a", set), aPod("b", ownedBy("DaemonSet", "old"))}, "2 cloud controller managers for vSphere run in namespace kube-system: DaemonSet ccm, DaemonSet old: use --config FILE"},
		"the CPI beside vzones":  {[]*v1.Pod{aPod("a", set), aPod("b", ownedBy("DaemonSet", "cpi"), labeled("app", "vsphere-cpi"))}, "DaemonSet ccm, DaemonSet cpi: use --config FILE"},
		"a tenant's Pod alone":   {[]*v1.Pod{aPod("a", hostile, func(p *v1.Pod) { p.Namespace = "tenant" })}, "no Pod of"},
		"a tenant's Pod too":     {[]*v1.Pod{aPod("a", set), aPod("b", set, hostile, func(p *v1.Pod) { p.Namespace = "tenant" })}, "Pod kube-system/a"},
		"a hostile Pod beside":   {[]*v1.Pod{aPod("a", set), aPod("b", hostile)}, "DaemonSet ccm, Pod b: use --config FILE"},
		"a static Pod beside":    {[]*v1.Pod{aPod("a", set), aPod("b", hostile, ownedBy("Node", "n1"))}, "Pod kube-system/a"},
		"a static Pod alone":     {[]*v1.Pod{aPod("a", hostile, ownedBy("Node", "n1"))}, "no Pod of"},
		"the CPI's chart":        {[]*v1.Pod{aPod("a", set, labeled("app", "vsphere-cpi"))}, "Pod kube-system/a"},
		"the CPI's old manifest": {[]*v1.Pod{aPod("a", set, labeled("k8s-app", "vsphere-cloud-controller-manager"))}, "Pod kube-system/a"},
		"Rancher's chart":        {[]*v1.Pod{aPod("a", set, labeled("component", "rancher-vsphere-cpi-cloud-controller-manager"))}, "Pod kube-system/a"},
		"other labels":           {[]*v1.Pod{aPod("a", set, labeled("app", "mine"))}, "no Pod of"},
		"two ReplicaSets":        {[]*v1.Pod{aPod("a", replicaSet("x1")), aPod("b", replicaSet("x2"))}, "Pod kube-system/a"},
		"two Deployments":        {[]*v1.Pod{aPod("a", replicaSet("x1")), aPod("b", ownedBy("ReplicaSet", "ccm-x1"))}, "Deployment ccm, ReplicaSet ccm-x1"},
		"arguments with a program": {[]*v1.Pod{aPod("a", func(p *v1.Pod) {
			p.Spec.Containers[0].Command = []string{"/bin/vsphere-cloud-controller-manager"}
		})}, "Pod kube-system/a"},
		"a container beside others": {[]*v1.Pod{aPod("a", func(p *v1.Pod) {
			p.Spec.Containers = append([]v1.Container{{Name: "proxy", Image: "proxy"}}, p.Spec.Containers...)
		})}, "Pod kube-system/a"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []runtime.Object
			for _, p := range c.pods {
				objects = append(objects, p)
			}
			d, err := findDaemon(t.Context(), fake.NewClientset(objects...), metav1.NamespaceSystem)
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || strings.HasPrefix(c.want, "Pod kube-system/") {
					t.Fatal(err)
				}
				return
			}
			if d.String() != c.want {
				t.Errorf("found %s", d)
			}
			if d.CloudConfig != "/etc/cloud/vsphere.conf" || d.TagRefresh != 30*time.Second || len(d.Environ) > 0 {
				t.Errorf("flags: %+v, environment %q", d.CommandLine, d.Environ)
			}
		})
	}
}

func replicaSet(hash string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		ownedBy("ReplicaSet", "ccm-"+hash)(p)
		p.Labels["pod-template-hash"] = hash
	}
}

func TestNewestPodDecides(t *testing.T) {
	old := aPod("old", replicaSet("x1"))
	fresh := aPod("new", replicaSet("x2"), func(p *v1.Pod) {
		p.CreationTimestamp = metav1.Now()
		p.Spec.Containers[0].Args = append(p.Spec.Containers[0].Args, "--node-labels=a=b", "--tag_refresh=2m")
	})
	d, err := findDaemon(t.Context(), fake.NewClientset(old, fresh), metav1.NamespaceSystem)
	if err != nil || !slices.Equal(d.NodeLabels, []string{"a=b"}) || d.TagRefresh != 2*time.Minute {
		t.Fatalf("got the command line %+v and the error %v, want that of the newest Pod", d.CommandLine, err)
	}
}

// withEverything returns a Pod with all kinds of variables and volumes.
func withEverything(p *v1.Pod) {
	c := &p.Spec.Containers[0]
	c.Args = append(c.Args, "--node-labels=zone=$(WHERE),pod=$(POD_NAME)", "--concurrent-node-syncs=$$(X)")
	c.EnvFrom = []v1.EnvFromSource{{Prefix: "VSPHERE_", ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "env"}}}}
	c.Env = []v1.EnvVar{
		{Name: "WHERE", Value: "east"},
		{Name: "HTTPS_PROXY", Value: "http://proxy:3128"},
		{Name: "VSPHERE_PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "login"}, Key: "pw"}}},
		{Name: "TOKEN", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "nobody-reads-this"}, Key: "pw"}}},
		{Name: "POD_NAME", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	}
	c.VolumeMounts = []v1.VolumeMount{
		{Name: "config", MountPath: "/etc/cloud"}, {Name: "ca", MountPath: "/etc/cloud/ca/"}, {Name: "single", MountPath: "/etc/one.pem", SubPath: "sub/one.pem"},
		{Name: "login", MountPath: "/etc/login"}, {Name: "host", MountPath: "/etc/ssl"}, {Name: "config", MountPath: "/etc/other", SubPathExpr: "$(POD_NAME)"},
	}
	p.Spec.Volumes = []v1.Volume{
		{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "config"}}}},
		{Name: "ca", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
			{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "config"}, Items: []v1.KeyToPath{{Key: "ca", Path: "east/ca.pem"}}}},
		}}}},
		{Name: "single", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "config"}, Items: []v1.KeyToPath{{Key: "ca", Path: "sub/one.pem"}}}}},
		{Name: "login", VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "login"}}},
		{Name: "host", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/etc/ssl"}}},
	}
}

func TestEnvironmentAndFiles(t *testing.T) {
	in := metav1.ObjectMeta{Namespace: "kube-system"}
	named := func(name string) metav1.ObjectMeta { m := in; m.Name = name; return m }
	client := fake.NewClientset(aPod("a", withEverything),
		&v1.ConfigMap{ObjectMeta: named("env"), Data: map[string]string{"USER": "u"}},
		&v1.ConfigMap{ObjectMeta: named("config"), Data: map[string]string{"vsphere.conf": "text"}, BinaryData: map[string][]byte{"ca": []byte("pem")}},
		&v1.Secret{ObjectMeta: named("login"), Data: map[string][]byte{"pw": []byte("p$(WHERE)")}})
	d, err := findDaemon(t.Context(), client, metav1.NamespaceSystem)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"HTTPS_PROXY=http://proxy:3128", "VSPHERE_PASSWORD=p$(WHERE)", "VSPHERE_USER=u"}; !slices.Equal(d.Environ, want) {
		t.Errorf("environment %q", d.Environ)
	}
	if !slices.Equal(d.NodeLabels, []string{"zone=east,pod=a"}) {
		t.Errorf("labels %q", d.NodeLabels)
	}
	for name, want := range map[string]string{
		"/etc/cloud/vsphere.conf": "text", "/etc/cloud/../cloud/vsphere.conf": "text", "/etc/cloud/ca/east/ca.pem": "pem", "/etc/one.pem": "pem", "/etc/login/pw": "p$(WHERE)",
	} {
		if got, err := d.ReadFile(t.Context(), name, 100); err != nil || string(got) != want {
			t.Errorf("file %s: got %q and the error %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"/etc/cloud/none": "file does not exist", "/other": "Pod kube-system/a mounts no volume there", "/etc/ssl/ca.pem": "volume host of Pod kube-system/a is neither a ConfigMap nor a Secret",
		"/etc/other/x": "is mounted at $(POD_NAME), which cannot be expanded here",
	} {
		_, err := d.ReadFile(t.Context(), name, 100)
		if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, fs.ErrNotExist) == strings.Contains(err.Error(), ": volume ") {
			t.Errorf("file %s: got the error %v, want %q", name, err, want)
		}
	}
	if _, err := d.ReadFile(t.Context(), "/etc/login/pw", 1); !errors.Is(err, config.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	files, err := d.ReadDirectory(t.Context(), "/etc/login")
	if err != nil || string(files["pw"]) != "p$(WHERE)" {
		t.Errorf("ReadDirectory = %q, %v, want the password p$(WHERE)", files, err)
	}
	if _, err := d.ReadDirectory(t.Context(), "/etc/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
}

// An unreadable variable is an error only if something depends on it.
func TestVariablesOfOtherKinds(t *testing.T) {
	for name, c := range map[string]struct {
		from v1.EnvVarSource
		want string
	}{
		"a file":  {v1.EnvVarSource{FileKeyRef: &v1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k"}}, "environment variable VSPHERE_USER: the value comes from neither a ConfigMap nor a Secret"},
		"a field": {v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "spec.x"}}, `environment variable VSPHERE_USER: the Pod field "spec.x" is not supported`},
	} {
		for variable, want := range map[string]string{"VSPHERE_USER": c.want, "OTHER": ""} {
			pod := aPod("a", func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: variable, ValueFrom: &c.from}} })
			if _, err := findDaemon(t.Context(), fake.NewClientset(pod), metav1.NamespaceSystem); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s in %s: %v", name, variable, err)
			}
		}
	}
}

// The error names the flag but not its value, which may be a password.
func TestFlagsThatCannotBeRead(t *testing.T) {
	for argument, want := range map[string]string{
		"--tag-refresh=$(VSPHERE_PASSWORD)":   "the value of --tag-refresh is not a valid duration: correct the Pod's arguments",
		"--login-timeout=$(VSPHERE_PASSWORD)": "the value of --login-timeout is not a valid duration: correct the Pod's arguments",
		"--node-labels":                       "--node-labels has no value: correct the Pod's arguments",
		"---$(VSPHERE_PASSWORD)":              "an argument is not a valid flag: correct",
	} {
		pod := aPod("a", func(p *v1.Pod) {
			c := &p.Spec.Containers[0]
			c.Args = append(c.Args, argument)
			c.Env = []v1.EnvVar{{Name: "VSPHERE_PASSWORD", ValueFrom: &v1.EnvVarSource{
				SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: "login"}, Key: "pw"},
			}}}
		})
		client := fake.NewClientset(pod, &v1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "login"}, Data: map[string][]byte{"pw": []byte("S3cret")},
		})
		_, err := findDaemon(t.Context(), client, metav1.NamespaceSystem)
		if err == nil || !strings.Contains(err.Error(), "Pod kube-system/a: reading the daemon's flags: "+want) || strings.Contains(err.Error(), "S3cret") {
			t.Errorf("argument %s: got the error %v, want %q without the value", argument, err, want)
		}
	}
}

// The error names the object that the account may not read.
func TestMissingPermissions(t *testing.T) {
	for resource, want := range map[string]string{
		"pods": "looking for the daemon's Pods: ", "secrets": `Pod kube-system/a: environment variable VSPHERE_PASSWORD: reading Secret kube-system/login: `, "configmaps": "reading ConfigMap kube-system/env: ",
	} {
		client := fake.NewClientset(aPod("a", withEverything), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "env"}})
		client.PrependReactor("*", resource, func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(v1.Resource(resource), "", errors.New("no right"))
		})
		if _, err := findDaemon(t.Context(), client, metav1.NamespaceSystem); err == nil || !strings.Contains(err.Error(), want) || !apierrors.IsForbidden(err) {
			t.Errorf("%s may not be read: got the error %v, want %q", resource, err, want)
		}
	}
}
