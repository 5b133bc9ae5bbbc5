package convert

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/parse"
	"vzones/config/parse/yaml"
)

const aChart = `config: &c

  enabled: true

  vcenter: vc.example.com

  username: user

  password: S3cretS3cret

  datacenter: dc-1

daemonset:

  resources: &r {requests: {cpu: 1}} # S3cretS3cret

  podLabels: *r

  affinity: {<<: *r, nodeAffinity: null}

`

// TestChartValuesStandAlone: no alias leads out of what is carried over, and no comment
// comes with it.
func TestChartValuesStandAlone(t *testing.T) {
	w, err := ToChart("f", []byte(aChart), "kube-system")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Workload struct {
			PodLabels map[string]any `yaml:"podLabels"`
		}
		Resources map[string]any
		Affinity  map[string]any
	}
	if err := yaml.Unmarshal(w.Data, &values); err != nil {
		t.Fatalf("%v\n%s", err, w.Data)
	}
	want := fmt.Sprint(map[string]any{"requests": map[string]any{"cpu": 1}})
	for _, got := range []any{values.Workload.PodLabels, values.Resources, values.Affinity} {
		if fmt.Sprint(got) != want {
			t.Errorf("got %v", got)
		}
	}
	if strings.Contains(string(w.Data), "S3cret") || strings.Contains(string(w.Data), "*r") {
		t.Errorf("got\n%s", w.Data)
	}
}

// TestChartAliasesAreBounded: aliases that stand for more than a file could hold are a
// mistake, and so is one that stands for itself.
func TestChartAliasesAreBounded(t *testing.T) {
	pyramid := "daemonset:\n  affinity:\n    a0: &a0 [x, x]\n"
	for i := range 30 {
		pyramid += fmt.Sprintf("    a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for _, file := range []string{pyramid, "daemonset:\n  affinity: &a {b: *a}\n"} {
		if _, err := ToChart("f", []byte(file), "kube-system"); err == nil || !strings.Contains(err.Error(), "aliases") {
			t.Errorf("got %v for %.60q", err, file)
		}
	}
}

// TestChartConfigLoads: what the new values have under config is a configuration, which the
// vSphere CPI's chart means too.
func TestChartConfigLoads(t *testing.T) {
	w, err := ToChart("f", []byte(aChart), "kube-system")
	if err != nil {
		t.Fatal(err)
	}
	checkChartConfig(t, w)
	if got := w.Private.Reveal(); !strings.Contains(got, `password: "S3cretS3cret"`) {
		t.Errorf("credentials %s", got)
	}
}

// checkChartConfig checks that values have a configuration that loads, or name a ConfigMap.
func checkChartConfig(t *testing.T, w *Written) {
	t.Helper()
	var values struct{ Config yaml.Node }
	if err := yaml.Unmarshal(w.Data, &values); err != nil {
		t.Fatalf("%v\n%s", err, w.Data)
	}
	if values.Config.Kind == 0 {
		return
	}
	data, err := yaml.Marshal(&values.Config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parse.Parse("f", data)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.Data)
	}
	if len(c.VCenters) != 1 || c.VCenters[0].Secret.Name == "" {
		t.Errorf("got %+v", c)
	}
}

// FuzzConvertChart: whatever a values file says, it is converted to values with a
// configuration that loads, or it has mistakes.
func FuzzConvertChart(f *testing.F) {
	f.Add([]byte(aChart))
	f.Add([]byte("vCenter:\n  host: 10.0.0.1\n  datacenters: a, b\n  username: u\n  password: S3cretS3cret\n" +
		"nodesEnable: true\nnodes: {internalVmNetworkName: n}\ncloudControllerManager: {env: [{name: PASSWORD, value: S3cretS3cret}]}\n"))
	f.Add([]byte("global: {config: {vcenter: vc, username: u, password: S3cretS3cret, datacenter: d}}\nkube-vip: {}\n"))
	f.Add([]byte("rancher-vsphere-cpi: {vCenter: {cloudConfig: {generate: false}}}\nother: [S3cretS3cret]\n"))
	f.Add([]byte("config: {enabled: true, password: [S3cretS3cret]}\ndaemonset: {cmdline: {additionalParams: {v: 4, x: false, y: {}}}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := ToChart("f", data, "kube-system")
		if err != nil {
			if _, mistakes := errors.AsType[config.Errors](err); !mistakes {
				t.Fatal(err)
			}
			return
		}
		checkChartConfig(t, w)
	})
}

// TestTolerationsAreTheCharts: what is written besides the CPI's tolerations is what vzones'
// chart has of its own, which a list in its place takes away.
func TestTolerationsAreTheCharts(t *testing.T) {
	data, err := os.ReadFile("../manifests/chart/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Tolerations []struct{ Key, Operator, Value, Effect string }
	}
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	var want []toleration
	for _, v := range values.Tolerations {
		want = append(want, toleration{v.Key, v.Operator, v.Value, v.Effect})
	}
	if !slices.Equal(ourTolerations, want) {
		t.Errorf("it has %v, and the chart %v", ourTolerations, want)
	}
}
