package chart

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"golang.org/x/tools/txtar"
)

// TestAccepted: valid values are rendered. Each file overrides the values of the plain manifest.
func TestAccepted(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/accepted.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatalf("%d values files: %v", len(archive.Files), err)
	}
	for _, f := range archive.Files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			if _, err := helm.Template(t.Context(), helm.Example("plain"), values(t, string(f.Data))); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneAfterTheOther: without leader election the old Pod ends before the new Pod starts.
func TestOneAfterTheOther(t *testing.T) {
	for _, network := range []string{"true", "false"} {
		rendered := render(t, "plain", "leaderElection: {enabled: false}\nworkload: {kind: Deployment, replicas: 1}\nhostNetwork: "+network+"\n")
		for _, d := range as[appsv1.Deployment](t, rendered, "Deployment") {
			if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate != nil {
				t.Errorf("the strategy is %+v", d.Spec.Strategy)
			}
		}
	}
}

// TestNamesStayTexts: names that look like a number, a boolean or null are rendered as strings
// everywhere.
func TestNamesStayTexts(t *testing.T) {
	out, err := helm.Run(t.Context(), "template", "vzones", helm.Chart(), "--namespace", "007", "--values", values(t, `
nameOverride: "10"
fullnameOverride: "123"
config:
  global: {secretName: "456", secretNamespace: "null"}
  vcenter: {vc.example.com: {}}
configMapName: "1e3"
credentials: {"456": {vc.example.com: {username: u, password: p}}}
certificateAuthorities: {"789": "-----BEGIN CERTIFICATE-----"}
workload: {kind: Deployment}
serviceAccount: {name: "true"}
rbac: {name: "0", clusterRoles: ["1"], secrets: [{name: "null", namespace: "8"}]}
priorityClassName: "2"
image: {repository: "10", tag: "20"}
imagePullSecrets: [{name: "3"}]
leaderElection: {resourceName: "4", resourceNamespace: "5"}
podDisruptionBudget: {enabled: true}
serviceMonitor: {enabled: true, tokenSecretName: "11", prometheus: {name: "6", namespace: "7"}}
prometheusRule: {enabled: true}
dashboard: {enabled: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects(t, out) {
		texts(t, o.GetKind(), o.Object)
	}
	as[corev1.ServiceAccount](t, out, "ServiceAccount")
	as[corev1.Secret](t, out, "Secret")
	as[corev1.Service](t, out, "Service")
	as[policyv1.PodDisruptionBudget](t, out, "PodDisruptionBudget")
	as[rbacv1.ClusterRole](t, out, "ClusterRole")
	as[rbacv1.ClusterRoleBinding](t, out, "ClusterRoleBinding")
	as[rbacv1.RoleBinding](t, out, "RoleBinding")
	for _, m := range as[corev1.ConfigMap](t, out, "ConfigMap") {
		if m.Name == "1e3" && m.Data["789"] == "" {
			t.Errorf("the ConfigMap has %v", m.Data)
		}
	}
	roles := 0
	for _, r := range as[rbacv1.Role](t, out, "Role") {
		roles++
		if r.Name != "0" {
			t.Errorf("the Role is named %q", r.Name)
		}
	}
	if p := pod(t, out); roles < 5 || p.Labels["name"] != "123" || p.Spec.ServiceAccountName != "true" {
		t.Errorf("%d Roles, the Pod %+v", roles, p)
	}

	elsewhere := render(t, "plain", `
kubeconfig: {secretName: "1", tokenSecretName: "null", key: "2"}
existingConfigMap: "3"
config: null
credentials: {vsphere-cloud-secret: null}
rbac: {create: false}
`)
	pod(t, elsewhere)
}

// texts checks that all names in an object are strings.
func texts(t *testing.T, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			texts(t, at, e)
		}
	case map[string]any:
		for key, value := range v {
			here := at + "." + key
			switch key {
			case "name", "namespace":
				if _, ok := value.(string); !ok {
					t.Errorf("%s is %#v", here, value)
				}
			case "matchLabels", "matchNames", "resourceNames":
				var all []any
				if m, ok := value.(map[string]any); ok {
					for _, e := range m {
						all = append(all, e)
					}
				} else {
					all, _ = value.([]any)
				}
				for _, e := range all {
					if _, ok := e.(string); !ok {
						t.Errorf("%s has %#v", here, e)
					}
				}
			}
			texts(t, here, value)
		}
	}
}
