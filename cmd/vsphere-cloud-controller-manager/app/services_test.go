package app

import (
	"reflect"
	"strings"
	"testing"

	"vzones/config"
	"vzones/config/load"
	"vzones/topology"
	"vzones/vcenter"
)

const twoVCenters = `
vcenter:
  east: {server: vc-east.example.com, user: u, password: FromTheFile42}
  west: {server: vc-west.example.com, user: u, password: FromTheFile42}
labels: {region: k8s-region, zone: k8s-zone}
`

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := load.Parse("vsphere.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRequirements: tags are required on the paths that decide, and none where only the
// inventory does.
func TestRequirements(t *testing.T) {
	both := []string{"k8s-region", "k8s-zone"}
	for text, want := range map[string]vcenter.Requirements{
		twoVCenters: {Tags: true, Categories: both, Paths: topology.DefaultPaths()},
		twoVCenters + "topology: {paths: [compute]}\n":                                                          {Tags: true, Categories: both, Paths: []topology.PathKind{topology.ComputePath}},
		strings.Replace(twoVCenters, "labels:", "topology: {paths: [folder]}\nlabels:", 1):                      {Tags: true, Categories: both, Paths: []topology.PathKind{topology.FolderPath}},
		strings.Replace(twoVCenters, "{region: k8s-region, zone: k8s-zone}", "{zone: {inventory: cluster}}", 1): {},
		strings.Replace(twoVCenters, "{region: k8s-region, zone: k8s-zone}", "{zone: {hostGroup: site-*}}", 1):  {HostGroups: true},
		twoVCenters + "topology: {levels: [{label: example.com/d, inventory: vsanFaultDomain}]}\n":              {Tags: true, Categories: both, Paths: topology.DefaultPaths(), FaultDomains: true},
	} {
		if got := vcenter.RequirementsOf(parsed(t, text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}
