package docs_test

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	kubernetes "k8s.io/client-go/kubernetes/scheme"

	"vzones/manifests"
	"vzones/test/page"
)

// TestDryRunPod: the Pod of a dry run is what the manifest's DaemonSet runs, as far as it has to
// be: the account, the configuration, and what the Pod may do.
func TestDryRunPod(t *testing.T) {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, kubernetes.Scheme, kubernetes.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	var pod v1.Pod
	for _, b := range page.Blocks(read(t, "how-to/dry-run.md")) {
		if b.Kind != "yaml" {
			continue
		}
		if _, _, err := strict.Decode([]byte(b.Text), nil, &pod); err != nil {
			t.Fatal(err)
		}
	}
	var set appsv1.DaemonSet
	for document := range strings.SplitSeq(string(manifests.Plain), "\n---\n") {
		if strings.Contains(document, "\nkind: DaemonSet\n") {
			if _, _, err := strict.Decode([]byte(document), nil, &set); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(pod.Spec.Containers) != 1 || len(set.Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("the Pod is %+v, the DaemonSet's %+v", pod.Spec, set.Spec.Template.Spec)
	}
	is, of := pod.Spec, set.Spec.Template.Spec
	main := is.Containers[0]
	if len(main.Args) < 2 || main.Args[0] != "--dry-run" || is.RestartPolicy != v1.RestartPolicyNever || pod.Namespace != set.Namespace {
		t.Errorf("the Pod is %+v", pod)
	}
	for _, arg := range main.Args[1:] {
		if !strings.Contains(strings.Join(of.Containers[0].Args, " ")+" ", arg+" ") {
			t.Errorf("the DaemonSet has no %s", arg)
		}
	}
	// What may differ: a Pod that is looked at once needs no priority, probes or port, and runs on any
	// control-plane Node.
	is.RestartPolicy, is.Tolerations = of.RestartPolicy, of.Tolerations
	is.PriorityClassName, is.TerminationGracePeriodSeconds = of.PriorityClassName, of.TerminationGracePeriodSeconds
	main.Image, main.Args, main.Env = of.Containers[0].Image, of.Containers[0].Args, of.Containers[0].Env
	main.Ports, main.Resources = of.Containers[0].Ports, of.Containers[0].Resources
	main.LivenessProbe, main.ReadinessProbe = of.Containers[0].LivenessProbe, of.Containers[0].ReadinessProbe
	is.Containers = []v1.Container{main}
	if !reflect.DeepEqual(is, of) {
		t.Errorf("the Pod of the page has\n%+v\nthe DaemonSet\n%+v", is, of)
	}
}
