package load

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/topology"
)

// TestOutcomes compares the result of each input with its golden file: the fields that differ from
// the default, the warnings and the errors.
func TestOutcomes(t *testing.T) {
	for folder, least := range map[string]int{"good": 40, "ini-good": 25, "invalid": 200, "ini-invalid": 70, "outcomes": 45} {
		t.Run(folder, func(t *testing.T) {
			configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
				cfg, err := Parse(c.File, c.Data, c.Environ...)
				c.Golden(t, ".txt", outcome(c.File, cfg, err))
				var messages string
				if err != nil {
					checkErrors(t, c.File, c.Data, err)
					messages = err.Error()
				} else {
					messages = strings.Join(configtest.WarningsOf(cfg), "\n")
				}
				if folder != "outcomes" && (err == nil) != strings.HasSuffix(folder, "good") {
					t.Errorf("got error %v", err)
				}
				// The second text is the password in base64.
				if strings.Contains(messages, "S3cret") || strings.Contains(messages, "UzNjcmV0") {
					t.Error("a message holds a secret")
				}
			})
		})
	}
}

// outcome formats the result of Parse, one field or message per line.
func outcome(file string, cfg *config.Config, err error) string {
	var b strings.Builder
	if err != nil {
		all, _ := errors.AsType[config.Errors](err)
		for _, e := range all {
			writeMessage(&b, "", e)
		}
		return b.String()
	}
	defaults := config.Config{
		File: file, VCenters: []config.VCenter{{Port: 443, RoundTrips: 3, IPFamilies: []string{"ipv4"}}},
		Topology: config.Topology{
			Policy:   topology.Policy{Paths: topology.DefaultPaths(), Precedence: topology.PrecedenceCSI},
			Backfill: true, Drift: config.DriftReport, Settle: time.Minute,
		},
		NodeSelector: labels.Everything(), MatchByName: true, OutOfService: config.OutOfServiceNever,
	}
	writeFields(&b, "", reflect.ValueOf(*cfg), reflect.ValueOf(defaults))
	for _, w := range cfg.Warnings {
		writeMessage(&b, "warning ", w)
	}
	return b.String()
}

// writeMessage writes a message with the fields that are not in its text.
func writeMessage(b *strings.Builder, kind string, e config.Error) {
	b.WriteString(kind + e.Error())
	for _, part := range []struct {
		name  string
		value any
	}{{"path", e.Path}, {"vCenter", e.VCenter}, {"CSI", e.IsCSI}} {
		if !reflect.ValueOf(part.value).IsZero() {
			fmt.Fprintf(b, " (%s %v)", part.name, part.value)
		}
	}
	b.WriteString("\n")
}

// writeFields writes the fields that differ from the default, and only a hash of PEM.
func writeFields(b *strings.Builder, name string, v, unset reflect.Value) {
	if reflect.DeepEqual(v.Interface(), unset.Interface()) {
		return
	}
	switch value := v.Interface().(type) {
	case []config.Warning:
	case []config.VCenter, topology.Rules:
		for i := range v.Len() {
			element := reflect.Zero(v.Type().Elem())
			if unset.Len() > 0 {
				element = unset.Index(0)
			}
			writeFields(b, fmt.Sprintf("%s[%d]", name, i), v.Index(i), element)
		}
	case config.Password:
		writeText(b, name, value.Reveal())
	case []byte:
		writeText(b, name, string(value))
	case string:
		writeText(b, name, value)
	case []string:
		fmt.Fprintf(b, "%s: %q\n", name, value)
	default:
		if v.Kind() != reflect.Struct {
			fmt.Fprintf(b, "%s: %v\n", name, value)
			return
		}
		for i := range v.NumField() {
			writeFields(b, strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), v.Field(i), unset.Field(i))
		}
	}
}

func writeText(b *strings.Builder, name, text string) {
	if strings.Contains(text, "-----BEGIN") {
		fmt.Fprintf(b, "%s: PEM blocks: %d, SHA-256 %.4x\n", name, strings.Count(text, "-----BEGIN"), sha256.Sum256([]byte(text)))
		return
	}
	fmt.Fprintf(b, "%s: %q\n", name, text)
}

func checkErrors(t *testing.T, file string, data []byte, err error) {
	t.Helper()
	all, ok := errors.AsType[config.Errors](err)
	if !ok || len(all) == 0 {
		t.Fatalf("got an error of type %T, want Errors", err)
	}
	if !slices.IsSortedFunc(all, func(a, b config.Error) int { return a.Line - b.Line }) {
		t.Errorf("not sorted by line:\n%v", err)
	}
	last := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte("\r")) + 1
	for i, e := range all {
		isInFile := e.File == file && e.Line > 0 && e.Line <= last
		if !isInFile && (e.File != "" || e.Line != 0 || !strings.HasPrefix(e.Field, "environment variable ")) || e.Message == "" {
			t.Errorf("bad error: %#v", e)
		}
		if strings.ContainsAny(e.Error(), "\n\r") {
			t.Errorf("not on one line: %q", e.Error())
		}
		if slices.Contains(all[:i], e) {
			t.Errorf("reported twice: %v", e)
		}
	}
}

// TestVCentersShareNothing checks that an inherited list is copied. TestLargeCAFiles covers the
// exception.
func TestVCentersShareNothing(t *testing.T) {
	cfg, err := Parse("f", []byte("global:\n  datacenters: [dc1]\n  ipFamily: [ipv6]\n"+
		"vcenter:\n  10.0.0.1:\n"+configtest.AnAccount+"  10.0.0.2:\n"+configtest.AnAccount))
	if err != nil {
		t.Fatal(err)
	}
	a, b := cfg.VCenters[0], cfg.VCenters[1]
	a.Datacenters[0], a.IPFamilies[0] = "x", "x"
	if b.Datacenters[0] != "dc1" || b.IPFamilies[0] != "ipv6" {
		t.Errorf("changing one vCenter changes another: datacenters %v, IP families %v, want dc1 and ipv6", b.Datacenters, b.IPFamilies)
	}
}

// TestParseKeepsNothing checks that Parse is safe for concurrent use and does not change its arguments.
func TestParseKeepsNothing(t *testing.T) {
	for _, folder := range []string{"good", "ini-good"} {
		c := configtest.Cases(t, folder)[0]
		data, environ := bytes.Clone(c.Data), []string{"VSPHERE_USER=env", "VSPHERE_PASSWORD=env"}
		results := make(chan string, 8)
		for range cap(results) {
			go func() {
				cfg, err := Parse(c.File, data, environ...)
				results <- outcome(c.File, cfg, err)
			}()
		}
		want := <-results
		for range cap(results) - 1 {
			if got := <-results; got != want {
				t.Errorf("got:\n%s\nand:\n%s", got, want)
			}
		}
		if !bytes.Equal(data, c.Data) || environ[0] != "VSPHERE_USER=env" {
			t.Error("an argument was changed")
		}
	}
}

// TestWarningsOutliveLines checks that a new line above a warning does not change its text, or a reload
// would log it again.
func TestWarningsOutliveLines(t *testing.T) {
	for _, folder := range []string{"good", "ini-good", "outcomes"} {
		for _, c := range configtest.Cases(t, folder) {
			texts := func(data []byte) (all []string) {
				if cfg, err := Parse(c.File, data, c.Environ...); err == nil {
					for _, w := range cfg.Warnings {
						all = append(all, w.Field+": "+w.Message)
					}
				}
				return all
			}
			text := bytes.TrimPrefix(c.Data, byteOrderMark)
			if before, after := texts(text), texts(append([]byte("# a line more\n"), text...)); !slices.Equal(before, after) {
				t.Errorf("%s: got\n%q\nand with a line more\n%q", c.File, before, after)
			}
		}
	}
}

func TestMain(m *testing.M) { os.Exit(configtest.Main(m)) }

// FuzzParse checks the properties of any file: no panic, a Config or Errors with lines, the same result
// each time, and no password in the output.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "invalid", "ini-good", "ini-invalid", "outcomes"} {
		for _, c := range configtest.Cases(f, folder) {
			f.Add(c.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("fuzz.yaml", data)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", cfg, err)
		}
		var printed string
		if err != nil {
			checkErrors(t, "fuzz.yaml", data, err)
			printed = err.Error()
		} else {
			checkConfig(t, cfg)
			printed = fmt.Sprintf("%+v", *cfg)
		}
		for _, password := range configtest.SecretsOf(data, IsINI(data)) {
			if strings.Contains(printed, password) {
				t.Errorf("shows the password %q:\n%s", password, printed)
			}
		}
		again, errAgain := Parse("fuzz.yaml", data)
		prefixes := cmpopts.EquateComparable(netip.Prefix{})
		if diff := cmp.Diff(cfg, again, prefixes) + cmp.Diff(err, errAgain, prefixes); diff != "" {
			t.Errorf("parsing a second time gives another result (+):\n%s", diff)
		}
	})
}

func checkConfig(t *testing.T, cfg *config.Config) {
	t.Helper()
	if len(cfg.VCenters) == 0 {
		t.Error("no vCenter")
	}
	for _, vc := range cfg.VCenters {
		if vc.Name == "" || vc.Server == "" || vc.Port < 1 || vc.Port > 65535 || vc.RoundTrips < 1 || len(vc.IPFamilies) == 0 {
			t.Errorf("not filled in: %+v", vc)
		}
		if (vc.User == "") != vc.Password.IsEmpty() {
			t.Errorf("half an account: %+v", vc)
		}
		if vc.Password.IsEmpty() && vc.Secret == (config.SecretRef{}) && vc.SecretsDirectory == "" || (vc.Secret.Name == "") != (vc.Secret.Namespace == "") {
			t.Errorf("no credentials: %+v", vc)
		}
	}
	for _, vc := range cfg.VCenters {
		if !strings.HasPrefix(vc.At, cfg.File+":") || !strings.HasPrefix(vc.TrustAt, cfg.File+":") || !vc.Equal(&vc) {
			t.Errorf("vCenter %s is at %q, its trust at %q, want lines of %s", vc.Name, vc.At, vc.TrustAt, cfg.File)
		}
	}
	checkTopology(t, &cfg.Topology)
}

func checkTopology(t *testing.T, top *config.Topology) {
	t.Helper()
	seen := make(map[string]bool)
	for _, rule := range slices.Concat(top.Policy.Rules, top.Policy.Levels) {
		sources := 0
		for _, source := range []string{rule.Category, string(rule.Inventory), rule.HostGroup} {
			if source != "" {
				sources++
			}
		}
		isOurs := rule.Label == topology.LabelRegion || rule.Label == topology.LabelZone || topology.IsReservedLevel(rule.Label)
		if sources > 1 || (sources == 1) != (rule.Value == nil || rule.Value.UsesOwn()) || seen[rule.Label] || !isOurs && config.ParseLabelKey(rule.Label) != nil {
			t.Errorf("bad rule %+v of %+v", rule, top.Policy)
		}
		seen[rule.Label] = true
	}
	if cycle := top.Policy.Cycle(); cycle != nil {
		t.Errorf("a cycle of %v", cycle)
	}
	if len(top.Policy.Paths) == 0 || len(top.Policy.Paths) > 3 || top.Policy.Precedence == "" || top.Drift == "" ||
		top.Settle < 0 || top.Settle > 24*time.Hour {
		t.Errorf("not filled in: %+v", top)
	}
}
