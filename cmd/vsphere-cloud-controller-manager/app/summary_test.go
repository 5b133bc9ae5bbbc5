package app

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/version"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/logging/loggingtest"
	"vzones/config"
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

const summaryText = `"Starting the vSphere cloud controller manager" version="VERSION" configuration="Secret kube-system/vsphere-config"
"Configured vCenter" vCenter="east" server="vc-east.example.com:443" datacenters=["dc-1","dc-2"] credentials=["Secret kube-system/vsphere"] insecure=false
"Configured vCenter" vCenter="west" server="192.0.2.7:8443" datacenters=["all"] credentials=["Secret kube-system/vsphere","the configuration"] insecure=true
"Configured labels" labels=["topology.kubernetes.io/region","topology.kubernetes.io/zone","example.com/host"] precedence="csi" backfill=true drift="taint" settle="1m0s"
"Watching Nodes and vCenters" nodes="pool in (a,b)" tagRefresh="30s" nodeDeletion=true controllers=["*"] leaderElection=true lease="kube-system/ccm" warmStandby=true
`

const summaryJSON = `{"msg":"Starting the vSphere cloud controller manager","v":0,"version":"VERSION","configuration":"Secret kube-system/vsphere-config"}
{"msg":"Configured vCenter","v":0,"vCenter":"east","server":"vc-east.example.com:443","datacenters":["dc-1","dc-2"],"credentials":["Secret kube-system/vsphere"],"insecure":false}
{"msg":"Configured vCenter","v":0,"vCenter":"west","server":"192.0.2.7:8443","datacenters":["all"],"credentials":["Secret kube-system/vsphere","the configuration"],"insecure":true}
{"msg":"Configured labels","v":0,"labels":["topology.kubernetes.io/region","topology.kubernetes.io/zone","example.com/host"],"precedence":"csi","backfill":true,"drift":"taint","settle":"1m0s"}
{"msg":"Watching Nodes and vCenters","v":0,"nodes":"pool in (a,b)","tagRefresh":"30s","nodeDeletion":true,"controllers":["*"],"leaderElection":true,"lease":{"name":"ccm","namespace":"kube-system"},"warmStandby":true}
`

func TestSummary(t *testing.T) {
	a := New(nil, Options{})
	a.cfg = parsed(t, summarized)
	a.source.Secret = config.SecretRef{Namespace: "kube-system", Name: "vsphere-config"}
	a.flags.TagRefresh, a.flags.WarmStandby = 30*time.Second, true
	generic := &cmconfig.GenericControllerManagerConfiguration{
		Controllers:    []string{"*"},
		LeaderElection: componentbaseconfig.LeaderElectionConfiguration{LeaderElect: true, ResourceNamespace: "kube-system", ResourceName: "ccm"},
	}
	var out bytes.Buffer
	want := map[string]string{"text": summaryText, "json": summaryJSON}
	for name, log := range loggingtest.Formats(&out) {
		out.Reset()
		a.logSummary(klog.NewContext(t.Context(), log), generic)
		got := strings.ReplaceAll(where.ReplaceAllString(out.String(), ""), version.Get().GitVersion, "VERSION")
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if strings.Contains(out.String(), "S3cret") {
			t.Errorf("%s: the log has a credential", name)
		}
	}
}
