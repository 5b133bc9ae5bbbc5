package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/version"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/test/logcapture"
	"vzones/topology"
)

func TestConfigure(t *testing.T) {
	write := func(name, content string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := write("good.yaml", "vcenter: {east: {server: 192.0.2.1, user: admin, password: S3cret}}\n")
	bad := write("bad.yaml", "vcenter: {east: {server: 192.0.2.1, prot: 443}}\n")

	for _, c := range []struct{ provider, file, says string }{
		{"aws", good, `"aws"`},
		{"", good, `"vsphere"`},
		{"vsphere", "", "--cloud-config"},
		{"vsphere", good + ".absent", "good.yaml.absent"},
		{"vsphere", bad, "bad.yaml:1: vcenter.east.prot"},
	} {
		d := New(nil, Options{})
		if err := d.configure(t.Context(), c.provider, c.file); err == nil || !strings.Contains(err.Error(), c.says) || d.cfg != nil {
			t.Errorf("%q, %s: %v, want %s", c.provider, c.file, err, c.says)
		}
	}
	d := New(nil, Options{})
	if err := d.configure(t.Context(), "vsphere", good); err != nil || d.cfg == nil || d.cfg.VCenters[0].Name != "east" {
		t.Errorf("of a valid file: error %v, configuration %+v, want the vCenter east", err, d.cfg)
	}
	var configErrs config.Errors
	if err := d.configure(t.Context(), "vsphere", bad); !errors.As(err, &configErrs) {
		t.Errorf("the errors cannot be distinguished from other errors: %v", err)
	}
	if d.cfg == nil || d.cfg.File != good {
		t.Error("a mistaken file took the place of a good one")
	}
}

func TestStop(t *testing.T) {
	t.Run("waits for what runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			d := New(nil, Options{})
			d.cancel = cancel
			ended := false
			d.group.Go(func() error {
				<-ctx.Done()
				// The logout takes a while.
				time.Sleep(stopTimeout / 2)
				ended = true
				return errors.New("a vCenter did not let go")
			})
			d.Stop(t.Context())
			if !ended {
				t.Error("left behind")
			}
			started := time.Now()
			d.Stop(t.Context())
			if time.Since(started) > 0 {
				t.Error("stopped twice")
			}
		})
	})
	t.Run("but not for ever", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := New(nil, Options{})
			release := make(chan struct{})
			d.group.Go(func() error { <-release; return nil })
			started := time.Now()
			d.Stop(t.Context())
			if waited := time.Since(started); waited != stopTimeout {
				t.Errorf("waited for %v", waited)
			}
			close(release)
		})
	})
	t.Run("before anything runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			New(nil, Options{}).Stop(t.Context())
			if waited := time.Since(started); waited > 0 {
				t.Errorf("waited for %v", waited)
			}
		})
	})
}

// TestResult: an end without a signal is an error, even if the framework returns none.
func TestResult(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	wrong := errors.New("wrong")
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		isConfigured bool
		asked        context.Context
		err          error
		failure      error
		want         error
	}{
		"only printed":            {asked: t.Context()},
		"wrong flags":             {asked: t.Context(), err: wrong, want: wrong},
		"a signal":                {isConfigured: true, asked: done},
		"an error after a signal": {isConfigured: true, asked: done, err: wrong, want: wrong},
		"no signal":               {isConfigured: true, asked: t.Context(), want: errEnded},
		"the Lease is lost":       {isConfigured: true, asked: t.Context(), failure: lost, want: lost},
		"lost after a signal":     {isConfigured: true, asked: done, failure: lost, want: lost},
	} {
		a := New(nil, Options{})
		a.isConfigured = c.isConfigured
		if c.failure != nil {
			a.fail(c.failure)
		}
		if got := a.result(c.asked, c.err); !errors.Is(got, c.want) {
			t.Errorf("%s: the daemon ends with %v, want %v", name, got, c.want)
		}
	}
}

// logHeader matches the time and the place of a log line, which differ in each run.
var logHeader = regexp.MustCompile(`(?m)^I\d{4} .*?\] |"ts":[0-9.e+]+,"caller":"[^"]+\.go:\d+",`)

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
"The configuration is in force with a warning" warning="environment variable X: overrides y"
"Configured vCenter" vCenter="east" server="vc-east.example.com:443" datacenters=["dc-1","dc-2"] credentials=["Secret kube-system/vsphere"] insecure=false
"Configured vCenter" vCenter="west" server="192.0.2.7:8443" datacenters=["all"] credentials=["Secret kube-system/vsphere","the configuration"] insecure=true
"Configured labels" labels=["topology.kubernetes.io/region","topology.kubernetes.io/zone","example.com/host"] precedence="csi" backfill=true drift="taint" settle="1m0s"
"Watching Nodes and vCenters" nodes="pool in (a,b)" tagRefresh="30s" nodeDeletion=true outOfService="never" controllers=["*"] leaderElection=true lease="kube-system/ccm"
`

const summaryJSON = `{"msg":"Starting the vSphere cloud controller manager","v":0,"version":"VERSION","configuration":"Secret kube-system/vsphere-config"}
{"msg":"The configuration is in force with a warning","v":0,"warning":"environment variable X: overrides y"}
{"msg":"Configured vCenter","v":0,"vCenter":"east","server":"vc-east.example.com:443","datacenters":["dc-1","dc-2"],"credentials":["Secret kube-system/vsphere"],"insecure":false}
{"msg":"Configured vCenter","v":0,"vCenter":"west","server":"192.0.2.7:8443","datacenters":["all"],"credentials":["Secret kube-system/vsphere","the configuration"],"insecure":true}
{"msg":"Configured labels","v":0,"labels":["topology.kubernetes.io/region","topology.kubernetes.io/zone","example.com/host"],"precedence":"csi","backfill":true,"drift":"taint","settle":"1m0s"}
{"msg":"Watching Nodes and vCenters","v":0,"nodes":"pool in (a,b)","tagRefresh":"30s","nodeDeletion":true,"outOfService":"never","controllers":["*"],"leaderElection":true,"lease":{"name":"ccm","namespace":"kube-system"}}
`

func TestSummary(t *testing.T) {
	a := New(nil, Options{})
	a.cfg = parsed(t, summarized)
	a.cfg.Warnings = []config.Warning{{Field: "environment variable X", Message: "overrides y"}}
	a.source.Secret = config.SecretRef{Namespace: "kube-system", Name: "vsphere-config"}
	a.flags.TagRefresh = 30 * time.Second
	generic := &cmconfig.GenericControllerManagerConfiguration{
		Controllers:    []string{"*"},
		LeaderElection: componentbaseconfig.LeaderElectionConfiguration{LeaderElect: true, ResourceNamespace: "kube-system", ResourceName: "ccm"},
	}
	var out bytes.Buffer
	want := map[string]string{"text": summaryText, "json": summaryJSON}
	for name, log := range logcapture.Formats(&out) {
		out.Reset()
		a.logSummary(klog.NewContext(t.Context(), log), generic)
		got := strings.ReplaceAll(logHeader.ReplaceAllString(out.String(), ""), version.Get().GitVersion, "VERSION")
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s: the summary differs (-want +got): %s", name, diff)
		}
		if strings.Contains(out.String(), "S3cret") {
			t.Errorf("%s: the log has a credential", name)
		}
	}
}

func TestNodeLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vsphere.yaml")
	if err := os.WriteFile(file, []byte(twoVCenters+"nodes: {labels: {a: file, c: file}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string]string{
		"":                            "map[a:file c:file]",
		"--node-labels=a=flag,b=flag": "map[a:flag b:flag c:file]",
		"--node-labels=a=flag --node-labels=b=flag":    "map[a:flag b:flag c:file]",
		`--node-labels="a=flag" --node-labels='b='`:    "map[a:flag b: c:file]",
		"--node-labels=a=x --node-labels=a=flag":       "map[a:flag c:file]",
		"--node-labels=kubernetes.io/x=y,b=flag":       "map[a:file b:flag c:file]",
		"--node-labels=topology.kubernetes.io/zone=x":  "map[a:file c:file]",
		"--node-labels=" + topology.OwnDomain + "/x=y": "--node-labels: label \"" + topology.OwnDomain + "/x\" is reserved",
		"--node-labels=a": "--node-labels: label \"a\" has no =",
	} {
		d := New(nil, Options{})
		cmd := d.newCommand(t.Context(), newOptions(t))
		if err := cmd.ParseFlags(strings.Fields(flags)); err != nil {
			t.Fatal(err)
		}
		err := d.configure(t.Context(), "vsphere", file)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(d.cfg.NodeLabels)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", flags, got, want)
		}
	}
	d := New(nil, Options{})
	d.flags.NodeLabels = []string{"example.com/rack=r1"}
	text := twoVCenters + "topology: {levels: [{label: example.com/rack, tag: rack}]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.configure(t.Context(), "vsphere", file); err == nil || !strings.Contains(err.Error(), "example.com/rack") {
		t.Errorf("a label of a level: %v", err)
	}
}

// TestWarningsOfNodeLabels: each read returns the warnings, so that a reload without changes logs nothing.
func TestWarningsOfNodeLabels(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vsphere.yaml")
	if err := os.WriteFile(file, []byte(twoVCenters), 0o600); err != nil {
		t.Fatal(err)
	}
	d := New(nil, Options{})
	d.flags.NodeLabels = []string{"kubernetes.io/x=y"}
	if err := d.configure(t.Context(), "vsphere", file); err != nil {
		t.Fatal(err)
	}
	const want = `--node-labels: label "kubernetes.io/x" is dropped: a cloud provider cannot set labels in kubernetes.io or k8s.io: ` +
		"remove it, or use your own prefix, such as example.com/x"
	again, err := d.source.Read(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	unexported := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(d.cfg, again, unexported); diff != "" {
		t.Errorf("reading the configuration again (-first +second):\n%s", diff)
	}
	if all := again.Warnings; len(all) != 1 || all[0].Error() != want || len(again.NodeLabels) > 0 {
		t.Errorf("got the warnings %v and the labels %v, want the warning %q and no label", all, again.NodeLabels, want)
	}
}
