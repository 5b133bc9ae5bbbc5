package chart

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"vzones/config"
	"vzones/config/load"
)

// objects parses rendered manifests.
func objects(t *testing.T, rendered []byte) []*unstructured.Unstructured {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(rendered), 4096)
	var all []*unstructured.Unstructured
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%v in\n%s", err, rendered)
		case len(o.Object) > 0:
			all = append(all, o)
		}
	}
}

// as returns the rendered objects of one kind, converted to their type.
func as[T any](t *testing.T, rendered []byte, kind string) []T {
	t.Helper()
	var all []T
	for _, o := range objects(t, rendered) {
		if o.GetKind() != kind {
			continue
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &typed, true); err != nil {
			t.Fatalf("converting %s %s to its type: %v", kind, o.GetName(), err)
		}
		all = append(all, typed)
	}
	return all
}

// pod returns the Pod template of the workload.
func pod(t *testing.T, rendered []byte) *corev1.PodTemplateSpec {
	t.Helper()
	for _, d := range as[appsv1.DaemonSet](t, rendered, "DaemonSet") {
		return &d.Spec.Template
	}
	for _, d := range as[appsv1.Deployment](t, rendered, "Deployment") {
		return &d.Spec.Template
	}
	t.Fatal("no workload")
	return nil
}

// configuration returns the daemon's configuration.
func configuration(t *testing.T, rendered []byte) string {
	t.Helper()
	for _, m := range as[corev1.ConfigMap](t, rendered, "ConfigMap") {
		if text, ok := m.Data["vsphere.conf"]; ok {
			return text
		}
	}
	return ""
}

// TestLint: helm lint reports nothing for the chart, without values and with every example.
func TestLint(t *testing.T) {
	if out, err := helm.Run(t.Context(), "lint", "--strict", helm.Chart()); err != nil {
		t.Errorf("helm lint without values: %v\n%s", err, out)
	}
	for _, name := range examples(t) {
		if out, err := helm.Run(t.Context(), "lint", "--strict", helm.Chart(), "--values", helm.Example(name)); err != nil {
			t.Errorf("helm lint with the example %s: %v\n%s", name, err, out)
		}
	}
}

// TestExamplesAreValid: rendered objects match the API's types, and the daemon accepts the
// configuration.
func TestExamplesAreValid(t *testing.T) {
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, name)
			as[rbacv1.ClusterRole](t, rendered, "ClusterRole")
			as[rbacv1.Role](t, rendered, "Role")
			as[corev1.Secret](t, rendered, "Secret")
			text := configuration(t, rendered)
			if name == "gardener-shoot" {
				if text != "" || len(as[corev1.ServiceAccount](t, rendered, "ServiceAccount")) != 1 {
					t.Error("there is no daemon, and its account")
				}
				return
			}
			if name == "shadow" {
				if v := pod(t, rendered).Spec.Volumes[0]; text != "" || v.ConfigMap == nil || v.ConfigMap.Name != "vsphere-cloud-config" {
					t.Errorf("the shadow reads %+v, and the chart creates the configuration %q; want the ConfigMap of the vSphere CPI and none", v, text)
				}
				return
			}
			if image := pod(t, rendered).Spec.Containers[0].Image; !strings.Contains(image, "/") {
				t.Errorf("the image %s names no registry", image)
			}
			if _, err := (load.Options{SkipFiles: true}).Parse("vsphere.conf", []byte(text)); err != nil {
				t.Errorf("the daemon rejects the configuration: %v\n%s", err, text)
			}
		})
	}
}

// TestConfigurationRestartsNothing: a change of vCenters, Secrets, CAs and rules does not change the
// Pod template.
func TestConfigurationRestartsNothing(t *testing.T) {
	one := pod(t, render(t, "plain"))
	two := pod(t, render(t, "plain", `
config:
  global: {secretName: other, secretNamespace: elsewhere}
  vcenter:
    vcenter-1: null
    east: {server: vc-east.example.com, caFile: /etc/cloud/east.pem}
  labels: {region: {inventory: vcenter}}
  topology: {drift: update}
  nodes: {skipDeletion: true}
credentials:
  vsphere-cloud-secret: null
  other: {vc-east.example.com: {username: a, password: b}}
certificateAuthorities:
  east.pem: "-----BEGIN CERTIFICATE-----"
`))
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("a change of the configuration replaces the Pods: their template differs (-before +after):\n%s", diff)
	}
	three := pod(t, render(t, "plain", "logging: {format: json}\n"))
	if cmp.Equal(one, three) {
		t.Error("another logging format leaves the Pod template as it was, want another flag")
	}
}

// readableSecrets returns the Secrets that Roles allow to read, as namespace/name. It fails the test
// for any other rule about Secrets.
func readableSecrets(t *testing.T, rendered []byte) []string {
	t.Helper()
	var all []string
	for _, r := range as[rbacv1.Role](t, rendered, "Role") {
		for _, rule := range r.Rules {
			if !slices.Contains(rule.Resources, "secrets") {
				continue
			}
			if len(rule.ResourceNames) == 0 || !slices.Equal(rule.Verbs, []string{"list", "watch"}) {
				t.Errorf("Role %s/%s has the rule %+v, want list and watch of named Secrets", r.Namespace, r.Name, rule)
			}
			for _, name := range rule.ResourceNames {
				all = append(all, r.Namespace+"/"+name)
			}
		}
	}
	for _, r := range as[rbacv1.ClusterRole](t, rendered, "ClusterRole") {
		for _, rule := range r.Rules {
			if slices.Contains(rule.Resources, "secrets") {
				t.Errorf("all Secrets of the cluster: %+v", rule)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestRoleListsTheSecretsOfTheConfiguration: the Role lists exactly the Secrets that the daemon
// watches for the same configuration, and rbac.secrets.
func TestRoleListsTheSecretsOfTheConfiguration(t *testing.T) {
	cases := map[string]string{
		"the Secret of global": ``,
		"one of an entry besides": `
config: {vcenter: {b: {server: b.example.com, secretName: b, secretNamespace: tenants}, a: {server: a.example.com, secretName: a, secretNamespace: tenants}}}`,
		"that of global is of no use": `
config: {vcenter: {vcenter-1: {secretName: own, secretNamespace: default}}}
credentials: {vsphere-cloud-secret: null}`,
		"the vCenter of global": `
config: {global: {server: old.example.com}, vcenter: {vcenter-1: {secretName: own, secretNamespace: kube-system}}}`,
		"an entry is the vCenter of global": `
config: {global: {server: old.example.com}, vcenter: {vcenter-1: {server: OLD.example.com, secretName: own, secretNamespace: kube-system}}}
credentials: {vsphere-cloud-secret: null}`,
		"it has another port": `
config: {global: {server: old.example.com}, vcenter: {vcenter-1: {server: old.example.com, port: 8443, secretName: own, secretNamespace: kube-system}}}
credentials: {vsphere-cloud-secret: null}`,
		"no Secret": `
config: {global: {secretName: null, secretNamespace: null, user: u, password: p}}
credentials: {vsphere-cloud-secret: null}`,
		"a directory besides": `
config: {global: {secretsDirectory: /etc/credentials}}`,
		"another spelling": `
config: {vcenter: {vcenter-1: {secret-name: own, secret-namespace: default}}}
credentials: {vsphere-cloud-secret: null}`,
		"an empty name": `
config: {vcenter: {vcenter-1: {secretName: "", secretNamespace: ""}}}`,
	}
	for name, further := range cases {
		t.Run(name, func(t *testing.T) {
			rendered := render(t, "plain", further+"\nrbac: {secrets: [{name: further, namespace: team}]}\n")
			cfg, err := load.Parse("vsphere.conf", []byte(configuration(t, rendered)))
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"team/further"}
			for i := range cfg.VCenters {
				if ref := cfg.VCenters[i].Secret; ref != (config.SecretRef{}) {
					want = append(want, ref.Namespace+"/"+ref.Name)
				}
			}
			slices.Sort(want)
			want = slices.Compact(want)
			if got := readableSecrets(t, rendered); !slices.Equal(got, want) {
				t.Errorf("the roles have %q, the daemon reads %q", got, want)
			}
		})
	}
}

// TestRolesGrantNoUnusedDeletion: with skipDeletion there is no permission to delete Nodes.
func TestRolesGrantNoUnusedDeletion(t *testing.T) {
	deletes := func(further string) bool {
		for _, r := range as[rbacv1.ClusterRole](t, render(t, "plain", further), "ClusterRole") {
			for _, rule := range r.Rules {
				if slices.Contains(rule.Verbs, "delete") {
					return true
				}
			}
		}
		return false
	}
	for further, want := range map[string]bool{
		"{}":                                                true,
		"config: {nodes: {skipDeletion: true}}":             false,
		"config: {nodes: {skipDeletion: false}}":            true,
		"rbac: {deleteNodes: false}":                        false,
		`extraEnv: [{name: SKIP_NODE_DELETION, value: ""}]`: false,
		"{config: {nodes: {skipDeletion: true}}, rbac: {deleteNodes: true}}": true,
	} {
		if deletes(further) != want {
			t.Errorf("%s: the right to delete Nodes is there: %t", further, !want)
		}
	}
}

// TestExistingConfigMap: the Pod reads an existing ConfigMap, and the Secrets in rbac.secrets are
// created and readable.
func TestExistingConfigMap(t *testing.T) {
	rendered, err := helm.Template(t.Context(), values(t, `
image: {repository: registry.example.com/vsphere-cloud-controller-manager}
existingConfigMap: mine
rbac: {secrets: [{name: one, namespace: kube-system}], deleteNodes: false}
credentials: {one: {vc.example.com: {username: u, password: p}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if maps := as[corev1.ConfigMap](t, rendered, "ConfigMap"); len(maps) > 0 {
		t.Errorf("a ConfigMap is made: %v", maps)
	}
	if v := pod(t, rendered).Spec.Volumes[0]; v.ConfigMap == nil || v.ConfigMap.Name != "mine" {
		t.Errorf("the Pod reads %+v", v)
	}
	if got := readableSecrets(t, rendered); !slices.Equal(got, []string{"kube-system/one"}) {
		t.Errorf("the roles have %q", got)
	}
	if made := as[corev1.Secret](t, rendered, "Secret"); len(made) != 1 || made[0].Name != "one" {
		t.Errorf("the Secrets %v are made", made)
	}
}

// TestShadowOfOwnValues: with the example for a shadow after an operator's values, a release contains only the
// shadow, with the configuration of these values. It owns no Secret.
func TestShadowOfOwnValues(t *testing.T) {
	own := values(t, `
image: {repository: registry.example.com/vsphere-cloud-controller-manager, tag: v1.37.0, digest: "sha256:`+strings.Repeat("a", 64)+`", pullPolicy: Always}
config:
  global: {secretName: own, secretNamespace: vzones}
  vcenter: {east: {server: vc-east.example.com, caFile: /etc/cloud/east.pem}}
credentials: {own: {vc-east.example.com: {username: u, password: p}}}
certificateAuthorities: {east.pem: "-----BEGIN CERTIFICATE-----"}
workload: {kind: Deployment}
serviceAccount: {name: ccm}
rbac: {name: ccm, secrets: [{name: further, namespace: vzones}]}
nodeSelector: {example.com/vcenter-access: "true"}
tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
extraEnv: [{name: HTTPS_PROXY, value: "http://proxy.example.com"}]
podDisruptionBudget: {enabled: true}
serviceMonitor: {enabled: true}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
`)
	rendered, err := helm.Template(t.Context(), own, helm.Example("shadow"), values(t, "existingConfigMap: null\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects(t, rendered) {
		got = append(got, o.GetKind()+" "+o.GetNamespace()+"/"+o.GetName())
	}
	slices.Sort(got)
	want := []string{
		"ClusterRole /vzones-shadow", "ClusterRoleBinding /vzones-shadow", "ConfigMap kube-system/vzones-shadow",
		"Deployment kube-system/vzones-shadow", "Role kube-system/vzones-shadow", "Role vzones/vzones-shadow",
		"RoleBinding kube-system/vzones-shadow", "RoleBinding vzones/vzones-shadow", "ServiceAccount kube-system/vzones-shadow",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects of the release (-want +got):\n%s", diff)
	}
	cfg, err := (load.Options{SkipFiles: true}).Parse("vsphere.conf", []byte(configuration(t, rendered)))
	if err != nil {
		t.Fatalf("the daemon rejects the configuration: %v\n%s", err, configuration(t, rendered))
	}
	if len(cfg.VCenters) != 1 || cfg.VCenters[0].Name != "east" {
		t.Errorf("vCenters %+v, want only east", cfg.VCenters)
	}
	spec := pod(t, rendered).Spec
	c := spec.Containers[0]
	if c.Image != "registry.example.com/vzones:v1.37.0" || c.ImagePullPolicy != corev1.PullAlways {
		t.Errorf("image %s with pull policy %q, want the tool's with the tag and the policy of the values", c.Image, c.ImagePullPolicy)
	}
	if len(spec.NodeSelector) != 1 || len(spec.Tolerations) != 1 || len(c.Env) != 1 {
		t.Errorf("nodeSelector %v, tolerations %v, env %v; want those of the values", spec.NodeSelector, spec.Tolerations, c.Env)
	}
}
