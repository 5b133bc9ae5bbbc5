package summary

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/logging/loggingtest"
	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/config"
	"vzones/config/parse"
)

// where is what two runs of the same code have in different words.
var where = regexp.MustCompile(`(?m)^I\d{4} .*?\] |"ts":[0-9.e+]+,"caller":"[^"]+\.go:\d+",`)

const summarized = `
global:
  secretName: vsphere
  secretNamespace: kube-system
vcenter:
  east: {server: vc-east.example.com, datacenters: [dc-1, dc-2], thumbprint: "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA"}
  west: {server: 192.0.2.7, port: 8443, user: S3cret-user, password: S3cret-word, insecureFlag: true}
labels: {region: k8s-region, zone: k8s-zone}
nodes: {selector: "pool in (a, b)"}
topology:
  drift: taint
  levels:
  - {label: example.com/host, inventory: host}
`

const summaryText = `"Starting the vSphere cloud controller manager" version="v1.2.3" commit="abc" go="go1.26" platform="linux/amd64" configuration="Secret kube-system/vsphere-config"
"Configured vCenter" vCenter="east" server="vc-east.example.com:443" datacenters=["dc-1","dc-2"] credentials=["Secret kube-system/vsphere"] certificate="thumbprint"
"Configured vCenter" vCenter="west" server="192.0.2.7:8443" datacenters=["all"] credentials=["Secret kube-system/vsphere","user in the configuration"] certificate="not verified"
"Configured labels" labels=["region=category \"k8s-region\"","zone=category \"k8s-zone\"","example.com/host=name of the host"] precedence="csi" backfill=true drift="taint" settle="1m0s"
"Watching Nodes and vCenters" nodes="pool in (a,b)" tagRefresh="30s" nodeDeletion=true controllers=["cloud-node-controller","topology-controller"]
"Taking part in the leader election" lease="kube-system/ccm" leaseDuration="15s" retryPeriod="750ms" warmStandby=true
`

const summaryJSON = `{"msg":"Starting the vSphere cloud controller manager","v":0,"version":"v1.2.3","commit":"abc","go":"go1.26","platform":"linux/amd64","configuration":"Secret kube-system/vsphere-config"}
{"msg":"Configured vCenter","v":0,"vCenter":"east","server":"vc-east.example.com:443","datacenters":["dc-1","dc-2"],"credentials":["Secret kube-system/vsphere"],"certificate":"thumbprint"}
{"msg":"Configured vCenter","v":0,"vCenter":"west","server":"192.0.2.7:8443","datacenters":["all"],"credentials":["Secret kube-system/vsphere","user in the configuration"],"certificate":"not verified"}
{"msg":"Configured labels","v":0,"labels":["region=category \"k8s-region\"","zone=category \"k8s-zone\"","example.com/host=name of the host"],"precedence":"csi","backfill":true,"drift":"taint","settle":"1m0s"}
{"msg":"Watching Nodes and vCenters","v":0,"nodes":"pool in (a,b)","tagRefresh":"30s","nodeDeletion":true,"controllers":["cloud-node-controller","topology-controller"]}
{"msg":"Taking part in the leader election","v":0,"lease":{"name":"ccm","namespace":"kube-system"},"leaseDuration":"15s","retryPeriod":"750ms","warmStandby":true}
`

func TestSummary(t *testing.T) {
	cfg, err := parse.Parse("vsphere.yaml", []byte(summarized))
	if err != nil {
		t.Fatal(err)
	}
	s := &Summary{
		Version: version.Info{GitVersion: "v1.2.3", GitCommit: "abc", GoVersion: "go1.26", Platform: "linux/amd64"},
		Source:  (&source.Source{Secret: config.SecretRef{Namespace: "kube-system", Name: "vsphere-config"}}).String(),
		Config:  cfg, TagRefresh: 30 * time.Second, Controllers: []string{"cloud-node-controller", "topology-controller"}, WarmStandby: true,
		Election: componentbaseconfig.LeaderElectionConfiguration{
			LeaderElect: true, ResourceNamespace: "kube-system", ResourceName: "ccm",
			LeaseDuration: metav1.Duration{Duration: 15 * time.Second}, RetryPeriod: metav1.Duration{Duration: 750 * time.Millisecond},
		},
	}
	var out bytes.Buffer
	want := map[string]string{"text": summaryText, "json": summaryJSON}
	for name, log := range loggingtest.Formats(&out) {
		out.Reset()
		s.Log(klog.NewContext(t.Context(), log))
		got := where.ReplaceAllString(out.String(), "")
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(out.String(), "S3cret") {
			t.Errorf("%s: the log has a credential", name)
		}
	}
}

// TestTrustOf: all that decides, since a thumbprint counts beside authorities.
func TestTrustOf(t *testing.T) {
	for want, v := range map[string]config.VCenter{
		"not verified":                          {Insecure: true, Thumbprint: "AA", CAFile: "/ca.pem"},
		"thumbprint":                            {Thumbprint: "AA"},
		"thumbprint or CA in /ca.pem":           {Thumbprint: "AA", CAFile: "/ca.pem", CA: []byte("PEM")},
		"thumbprint or CA in the configuration": {Thumbprint: "AA", CA: []byte("PEM")},
		"CA in /ca.pem":                         {CAFile: "/ca.pem"},
		"CA in the configuration":               {CA: []byte("PEM")},
		"CAs of the system":                     {},
	} {
		if got := trustOf(&v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
