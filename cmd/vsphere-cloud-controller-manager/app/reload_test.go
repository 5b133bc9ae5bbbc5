package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/config/load"
	"vzones/test/logcapture"
)

type countedReloads struct{ applied, rejected, last int }

func (c *countedReloads) Applied()  { c.applied++; c.last = 1 }
func (c *countedReloads) Rejected() { c.rejected++; c.last = 0 }

func (c *countedReloads) String() string {
	return fmt.Sprintf("%d applied, %d refused, last %d", c.applied, c.rejected, c.last)
}

// testReloader reloads a text that a test changes. It records its calls.
type testReloader struct {
	*reloader
	text    string
	err     error
	applied []*config.Config
	watched []string
	events  []string
	counted countedReloads
}

func newTestReloader(t *testing.T, text string) *testReloader {
	t.Helper()
	r := &testReloader{text: text, counted: countedReloads{last: 1}}
	r.reloader = &reloader{
		current: parsed(t, text),
		read: func(context.Context) (*config.Config, error) {
			if r.err != nil {
				return nil, r.err
			}
			return load.Parse("vsphere.yaml", []byte(r.text))
		},
		apply:      func(c *config.Config) { r.applied = append(r.applied, c) },
		watchFiles: func(_ *config.Config, files []string) { r.watched = files },
		record: func(eventType, reason, message string) {
			r.events = append(r.events, eventType+" "+reason+" "+message)
		},
		counts: &r.counted,
	}
	return r
}

func TestReload(t *testing.T) {
	r := newTestReloader(t, twoVCenters)
	step := func(what, text string, applied int, counted string, says ...string) {
		t.Helper()
		r.text = text
		// The file is read more often than it changes.
		for range 3 {
			r.reload(t.Context())
		}
		if len(r.applied) != applied {
			t.Fatalf("%s: applied %d times, want %d", what, len(r.applied), applied)
		}
		if got := r.counted.String(); got != counted {
			t.Errorf("%s: counted %s, want %s", what, got, counted)
		}
		events := r.events
		r.events = nil
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
	step("a label", changed, 1, "1 applied, 0 refused, last 1", "Normal ConfigurationApplied", "label topology.kubernetes.io/zone from tag k8s-zone to tag room")
	broken := strings.Replace(changed, "server: vc-west", "sever: vc-west", 1)
	step("an error", broken, 1, "1 applied, 1 refused, last 0", "Warning ConfigurationRejected", "vsphere.yaml:4: vcenter.west.sever", "stays in force")
	step("another", broken+"no: yes\n", 1, "1 applied, 2 refused, last 0", "Warning ConfigurationRejected", "vsphere.yaml:6: no")
	step("back", changed, 1, "2 applied, 2 refused, last 1", "Normal ConfigurationApplied", "reverted")
	alone := strings.Replace(changed, "  west: {server: vc-west", "  north: {server: vc-north", 1)
	step("another vCenter", alone, 2, "3 applied, 2 refused, last 1", `vCenter "north" added`, `vCenter "west" removed`)
	step("a password", strings.Replace(alone, "FromTheFile42", "Changed42", 1), 3, "4 applied, 2 refused, last 1", `vCenter "east" changed`)
	if r.current != r.applied[2] {
		t.Error("what is in force is not what was applied")
	}
	step("a CA that is not there", alone+"global: {caFile: /no/such/ca.pem}\n", 3, "4 applied, 3 refused, last 0", "Warning ConfigurationRejected", "vsphere.yaml:6: global.caFile")
	if len(r.watched) != 1 || r.watched[0] != "/no/such/ca.pem" {
		t.Errorf("to be watched: %v", r.watched)
	}
	r.err = errors.New("no such file")
	step("no file", "", 3, "4 applied, 4 refused, last 0", "Warning ConfigurationRejected", "no such file")
	r.err = nil
	step("a new one at once", twoVCenters, 4, "5 applied, 4 refused, last 1", "Normal ConfigurationApplied")
}

// TestReloadRepeats: API servers forget an Event after an hour, so a lasting error is recorded again.
// It is counted once.
func TestReloadRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTestReloader(t, twoVCenters)
		r.err = errors.New("no such file")
		// The source is read each minute.
		for range 3 * 60 {
			r.reload(t.Context())
			time.Sleep(time.Minute)
		}
		if got := r.counted.String(); len(r.events) != 4 || r.events[3] != r.events[0] || got != "0 applied, 1 refused, last 0" {
			t.Errorf("%s, recorded %q", got, r.events)
		}
	})
}

// TestReloadAtTheEnd: a failed read during the shutdown is not a rejection.
func TestReloadAtTheEnd(t *testing.T) {
	r := newTestReloader(t, twoVCenters)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.err = context.Canceled
	r.reload(ctx)
	if got := r.counted.String(); got != "0 applied, 0 refused, last 1" || len(r.events) > 0 {
		t.Errorf("at the end: %s, recorded %q, want nothing", got, r.events)
	}
}

func TestDifference(t *testing.T) {
	for want, text := range map[string]string{
		"nothing that has an effect": "# a comment\n" + twoVCenters,
		"nodes.internalVmNetworkName from none to n; nodes.selector from none to a=b": twoVCenters + "nodes: {selector: a=b, internalVmNetworkName: n}\n",
		"nodes.matchByName from true to false":                                        twoVCenters + "nodes: {matchByName: false}\n",
		"nodes.outOfService from never to gone":                                       twoVCenters + "nodes: {outOfService: gone}\n",
		"nodes.labels from none to a=b; nodes.skipDeletion from false to true":        twoVCenters + "nodes: {skipDeletion: true, labels: {a: b}}\n",
		`vCenter "west" changed: port from 443 to 8443`:                               strings.Replace(twoVCenters, "server: vc-west", "port: 8443, server: vc-west", 1),
		`vCenter "south" added; vCenter "east" removed (its Nodes remain)`:            strings.Replace(twoVCenters, "  east:", "  south:", 1),
	} {
		if got := config.Diff(parsed(t, twoVCenters), parsed(t, text)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestReloadWarns: a reload that disables the verification of a certificate logs this once, with its place.
func TestReloadWarns(t *testing.T) {
	r := newTestReloader(t, twoVCenters)
	log := logcapture.Capture(t, false)
	r.text = strings.Replace(twoVCenters, "west: {", "west: {insecureFlag: true, ", 1)
	for range 3 {
		r.reload(t.Context())
	}
	const says = `vsphere.yaml:4: vcenter.west.insecureFlag: disables certificate verification for vCenter \"west\": `
	if n := strings.Count(log.String(), says); n != 1 {
		t.Errorf("said %d times:\n%s", n, log)
	}
}

// TestReloadRepeatsNoWarning: a warning is not logged again after it moved to another line.
func TestReloadRepeatsNoWarning(t *testing.T) {
	text := "global: {insecureFlag: true, caFile: testdata/no, server: vc-west.example.com, user: u, password: p}\n" + strings.Replace(twoVCenters, "west: {", "west: {insecureFlag: false, ", 1)
	text = strings.Replace(text, "caFile: testdata/no", "thumbprint: '"+strings.TrimSuffix(strings.Repeat("AA:", 20), ":")+"'", 1)
	r := newTestReloader(t, text)
	log := logcapture.Capture(t, false)
	if len(r.current.Warnings) < 3 {
		t.Fatalf("warnings: %v", r.current.Warnings)
	}
	r.text = "# a comment\n" + text
	r.reload(t.Context())
	if len(r.applied) != 1 {
		t.Fatalf("applied %d times", len(r.applied))
	}
	if strings.Contains(log.String(), "with a warning") {
		t.Errorf("logged:\n%s", log)
	}
}

// TestWarningsNameTheirVCenter: warnings name the vCenter in every format.
func TestWarningsNameTheirVCenter(t *testing.T) {
	for name, text := range map[string]string{
		"YAML": `
global: {user: u, password: p, soapRoundtripCount: 5, insecureFlag: true}
vcenter:
  vc: {server: 192.0.2.1, insecureFlag: true}
  vc.example.com: {insecureFlag: true}
  10.0.0.1: {insecureFlag: true}
  "1st vc": {server: 192.0.2.2, insecureFlag: true}
`,
		"INI": `
[Global]
user = u
password = p
insecure-flag = true
[VirtualCenter "vc"]
server = 192.0.2.1
insecure-flag = true
[VirtualCenter "vc.example.com"]
insecure-flag = true
[VirtualCenter "10.0.0.1"]
insecure-flag = true
[VirtualCenter "1st vc"]
server = 192.0.2.2
insecure-flag = true
[Disk]
scsicontrollertype = pvscsi
`,
	} {
		cfg, err := load.Parse("vsphere.conf", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		logWarnings(klog.NewContext(t.Context(), logcapture.Formats(&out)["json"]), nil, cfg.Warnings)
		var found []string
		for line := range strings.Lines(out.String()) {
			var fields struct{ VCenter, Warning string }
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatalf("%s: not a JSON object: %v: %s", name, err, line)
			}
			if isOfVCenter := strings.Contains(fields.Warning, "disables certificate verification"); isOfVCenter != (fields.VCenter != "") {
				t.Errorf("%s: vCenter is %q, which only warnings about a certificate have: %s", name, fields.VCenter, line)
			}
			if fields.VCenter != "" {
				found = append(found, fields.VCenter)
			}
		}
		if diff := cmp.Diff([]string{"vc", "vc.example.com", "10.0.0.1", "1st vc"}, found); diff != "" {
			t.Errorf("%s: vCenters of the warnings (-want +got): %s", name, diff)
		}
	}
}
