package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"

	"vzones/config"
	"vzones/config/parse"
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
	c, err := parse.Parse("vsphere.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reloading is a reloader of a text that a test changes, and what it did.
type reloading struct {
	*reloader
	text    string
	err     error
	applied []*config.Config
	repairs []string
	events  *record.FakeRecorder
	metrics metrics.KubeRegistry
}

func newReloading(t *testing.T, text string) *reloading {
	t.Helper()
	r := &reloading{text: text, events: record.NewFakeRecorder(100), metrics: metrics.NewKubeRegistry()}
	r.reloader = &reloader{
		read: func(context.Context) (*config.Config, error) {
			if r.err != nil {
				return nil, r.err
			}
			return parse.Parse("vsphere.yaml", []byte(r.text))
		},
		apply:   func(c *config.Config) { r.applied = append(r.applied, c) },
		repair:  func(files []string) { r.repairs = files },
		current: parsed(t, text),
		pod:     &pod{&v1.ObjectReference{Kind: "Pod", Namespace: "kube-system", Name: "ccm"}, r.events},
		counts:  newReloads(r.metrics),
	}
	return r
}

// told returns the Events since it was last called.
func (r *reloading) told() []string {
	var all []string
	for len(r.events.Events) > 0 {
		all = append(all, <-r.events.Events)
	}
	return all
}

func (r *reloading) counted(t *testing.T) string {
	t.Helper()
	all := gather(t, r.metrics)
	return fmt.Sprintf("%v applied, %v refused, last %v",
		all["vsphere_ccm_config_reloads_total"].samples["result=applied"],
		all["vsphere_ccm_config_reloads_total"].samples["result=refused"],
		all["vsphere_ccm_config_last_reload_successful"].samples[""])
}

func TestReload(t *testing.T) {
	r := newReloading(t, twoVCenters)
	step := func(what, text string, applied int, counted string, says ...string) {
		t.Helper()
		r.text = text
		for range 3 { // the file is looked at more often than it changes
			r.look(t.Context())
		}
		if len(r.applied) != applied {
			t.Fatalf("%s: applied %d times, want %d", what, len(r.applied), applied)
		}
		if got := r.counted(t); got != counted {
			t.Errorf("%s: counted %s, want %s", what, got, counted)
		}
		events := r.told()
		if len(events) != min(len(says), 1) {
			t.Fatalf("%s: Events %q", what, events)
		}
		for _, s := range says {
			if !strings.Contains(events[0], s) {
				t.Errorf("%s: %q is not in %q", what, s, events[0])
			}
		}
	}
	step("nothing", twoVCenters, 0, "0 applied, 0 refused, last 1")
	changed := strings.Replace(twoVCenters, "k8s-zone", "room", 1)
	step("a label", changed, 1, "1 applied, 0 refused, last 1", "Normal ConfigurationApplied", "topology changed")
	broken := strings.Replace(changed, "server: vc-west", "sever: vc-west", 1)
	step("a mistake", broken, 1, "1 applied, 1 refused, last 0", "Warning ConfigurationRefused", "vsphere.yaml:4: vcenter.west.sever", "stays in force")
	step("another", broken+"no: yes\n", 1, "1 applied, 2 refused, last 0", "Warning ConfigurationRefused", "vsphere.yaml:6: no")
	step("back", changed, 1, "2 applied, 2 refused, last 1", "Normal ConfigurationApplied", "again")
	alone := strings.Replace(changed, "  west: {server: vc-west", "  north: {server: vc-north", 1)
	step("another vCenter", alone, 2, "3 applied, 2 refused, last 1", `vCenter "north" added`, `vCenter "west" removed`)
	step("a password", strings.Replace(alone, "FromTheFile42", "Changed42", 1), 3, "4 applied, 2 refused, last 1", `vCenter "east" changed`)
	if r.current != r.applied[2] {
		t.Error("what is in force is not what was applied")
	}
	step("a CA that is not there", alone+"global: {caFile: /no/such/ca.pem}\n", 3, "4 applied, 3 refused, last 0", "Warning ConfigurationRefused", "vsphere.yaml:6: global.caFile")
	if len(r.repairs) != 1 || r.repairs[0] != "/no/such/ca.pem" {
		t.Errorf("to be watched: %v", r.repairs)
	}
	r.err = errors.New("no such file")
	step("no file", "", 3, "4 applied, 4 refused, last 0", "Warning ConfigurationRefused", "no such file")
	r.err = nil
	step("a new one at once", twoVCenters, 4, "5 applied, 4 refused, last 1", "Normal ConfigurationApplied")
}

// TestReloadAtTheEnd: what cannot be read since the daemon stops is no mistake.
func TestReloadAtTheEnd(t *testing.T) {
	r := newReloading(t, twoVCenters)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.err = context.Canceled
	r.look(ctx)
	if got := r.counted(t); got != "0 applied, 0 refused, last 1" || len(r.told()) > 0 {
		t.Error(got)
	}
}

func TestDifference(t *testing.T) {
	for want, text := range map[string]string{
		"nothing that has an effect":                                      "# a comment\n" + twoVCenters,
		"address rules changed, Node selector changed":                    twoVCenters + "nodes: {selector: a=b, internalVmNetworkName: n}\n",
		"matching of Nodes by name changed":                               twoVCenters + "nodes: {matchByName: false}\n",
		"labels for every Node changed, deletion of Nodes changed":        twoVCenters + "nodes: {skipDeletion: true, labels: {a: b}}\n",
		`vCenter "west" changed`:                                          strings.Replace(twoVCenters, "server: vc-west", "port: 8443, server: vc-west", 1),
		`vCenter "south" added, vCenter "east" removed, whose Nodes stay`: strings.Replace(twoVCenters, "  east:", "  south:", 1),
	} {
		if got := config.Diff(parsed(t, twoVCenters), parsed(t, text)).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAbridge(t *testing.T) {
	long := strings.Repeat("ü", 400)
	for name, c := range map[string]struct {
		lines []string
		ends  string
	}{
		"short":        {[]string{"a", "b"}, "a; b"},
		"many":         {[]string{"a", long, long, "b"}, "and 2 more, in the log"},
		"one too long": {[]string{long + long}, "and 0 more, in the log"},
	} {
		got := abridge(c.lines)
		if len(got) > eventMax || !strings.HasSuffix(got, c.ends) || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %q", name, len(got), got)
		}
	}
}

func TestOwnPod(t *testing.T) {
	env := map[string]string{"POD_NAME": "ccm-1", "POD_NAMESPACE": "kube-system", "POD_UID": "u"}
	get := func(name string) string { return env[name] }
	if p := ownPod(get); p == nil || p.Name != "ccm-1" || p.Namespace != "kube-system" || p.UID != "u" {
		t.Errorf("%+v", p)
	}
	delete(env, "POD_NAME")
	if p := ownPod(get); p != nil {
		t.Errorf("%+v", p)
	}
	(&pod{}).tell(v1.EventTypeNormal, reasonApplied, "nobody is told")
}

// TestWanted: tags are wanted on the paths that decide, and none where only the
// inventory does.
func TestWanted(t *testing.T) {
	both := []string{"k8s-region", "k8s-zone"}
	for text, want := range map[string]vcenter.Wanted{
		twoVCenters: {Tags: true, Categories: both, Surveyed: both, Paths: topology.DefaultPaths()},
		twoVCenters + "topology: {paths: [compute]}\n":                                                          {Tags: true, Categories: both, Surveyed: both, Paths: []topology.PathKind{topology.ComputePath}},
		strings.Replace(twoVCenters, "labels:", "topology: {paths: [folder]}\nlabels:", 1):                      {Tags: true, Categories: both, Surveyed: both, Paths: []topology.PathKind{topology.FolderPath}},
		strings.Replace(twoVCenters, "{region: k8s-region, zone: k8s-zone}", "{zone: {inventory: cluster}}", 1): {},
		strings.Replace(twoVCenters, "{region: k8s-region, zone: k8s-zone}", "{zone: {hostGroup: site-*}}", 1):  {HostGroups: true},
		twoVCenters + "topology: {levels: [{label: example.com/d, inventory: vsanFaultDomain}]}\n":              {Tags: true, Categories: both, Surveyed: both, Paths: topology.DefaultPaths(), FaultDomains: true},
	} {
		if got := wanted(parsed(t, text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// TestReloadWarns: a reload that switches the verification of a certificate off says so,
// once and naming the place.
func TestReloadWarns(t *testing.T) {
	r, log := newReloading(t, twoVCenters), logEverything(t)
	r.text = strings.Replace(twoVCenters, "west: {", "west: {insecureFlag: true, ", 1)
	for range 3 {
		r.look(t.Context())
	}
	const says = `vsphere.yaml:4: vcenter.west.insecureFlag: switches the verification of the server's certificate off for vCenter \"west\": `
	if n := strings.Count(log.String(), says); n != 1 {
		t.Errorf("said %d times:\n%s", n, log)
	}
}

// TestReloadRepeatsNoWarning: what was told is not told again because it is in another line.
func TestReloadRepeatsNoWarning(t *testing.T) {
	text := "global: {insecureFlag: true, caFile: testdata/no, server: vc-west.example.com, user: u, password: p}\n" + strings.Replace(twoVCenters, "west: {", "west: {insecureFlag: false, ", 1)
	text = strings.Replace(text, "caFile: testdata/no", "thumbprint: '"+strings.TrimSuffix(strings.Repeat("AA:", 20), ":")+"'", 1)
	r, log := newReloading(t, text), logEverything(t)
	if len(r.current.Warnings) < 3 {
		t.Fatalf("warnings: %v", r.current.Warnings)
	}
	r.text = "# a comment\n" + text
	r.look(t.Context())
	if len(r.applied) != 1 {
		t.Fatalf("applied %d times", len(r.applied))
	}
	if strings.Contains(log.String(), "with a warning") {
		t.Errorf("logged:\n%s", log)
	}
}
