package convert

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/config/load"
	"vzones/topology"
)

// meaning returns a Config without positions and passwords. It moves categories that only the CSI
// driver's file format resolves together to the levels.
func meaning(c *config.Config) config.Config {
	m := *c
	m.File, m.Warnings = "", nil
	m.VCenters = slices.Clone(m.VCenters)
	for i := range m.VCenters {
		vc := &m.VCenters[i]
		vc.Password, vc.At, vc.TrustAt = config.Password{}, "", ""
	}
	var rules, further topology.Rules
	for _, r := range m.Topology.Policy.Rules {
		if r.Label == topology.LabelRegion || r.Label == topology.LabelZone {
			rules = append(rules, r)
		} else {
			further = append(further, r)
		}
	}
	m.Topology.Policy.Rules = rules
	m.Topology.Policy.Levels = append(further, m.Topology.Policy.Levels...)
	return m
}

func sameMeaning(t *testing.T, got, want *config.Config) {
	t.Helper()
	all := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(meaning(want), meaning(got), all); diff != "" {
		t.Errorf("what the configuration means (-want +got):\n%s", diff)
	}
}

func TestEffective(t *testing.T) { testEffective(t, "good", 15) }

func TestINIEffective(t *testing.T) { testEffective(t, "ini-good", 12) }

// testEffective compares the output with testdata/effective.
func testEffective(t *testing.T, folder string, least int) {
	configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		want, err := load.Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		w, err := Effective(file, data)
		if err != nil {
			t.Fatal(err)
		}
		c.Golden(t, ".effective.yaml", string(w.Data))
		got, err := load.Parse("effective.yaml", w.Data)
		if err != nil {
			t.Fatalf("does not load: %v", err)
		}
		sameMeaning(t, got, want)
		for i, vc := range got.VCenters {
			if !vc.Password.IsEmpty() != !want.VCenters[i].Password.IsEmpty() || !vc.Password.IsEmpty() && vc.Password.Reveal() != "[redacted]" {
				t.Errorf("vCenter %q: the password is not redacted", vc.Name)
			}
		}
		if diff := cmp.Diff(want.Warnings, w.Warnings); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		checkSources(t, file, data, w.Data)
	})
}

var keyWithValue = regexp.MustCompile(`^(- )?"?[A-Za-z0-9./-]+"?: \S`)

var keyOfPath = regexp.MustCompile(`([A-Za-z-]+)(\[\d+\])?$`)

// checkSources checks that each value has a source, and that the source's line contains the key.
func checkSources(t *testing.T, file string, data, written []byte) {
	t.Helper()
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for line := range strings.Lines(string(written)) {
		line = strings.TrimSpace(line)
		if !keyWithValue.MatchString(line) {
			continue
		}
		_, from, ok := strings.Cut(line, " # ")
		if !ok {
			t.Errorf("no source: %s", line)
			continue
		}
		if from == "default" {
			continue
		}
		var at int
		rest := strings.TrimPrefix(from, file+":")
		n, err := fmt.Sscanf(rest, "%d: ", &at)
		if n != 1 || err != nil || at < 1 || at > len(lines) {
			t.Errorf("no line: %s", line)
			continue
		}
		// A path that ends in quotes is the name of a vCenter.
		if key := keyOfPath.FindStringSubmatch(rest); len(key) > 1 && !strings.Contains(lines[at-1], key[1]) {
			t.Errorf("%s: line %d does not have it: %s", line, at, lines[at-1])
		}
	}
}

// Every key with an effect is shown, including keys that are added later.
func TestEffectiveIsComplete(t *testing.T) {
	d, err := load.Options{}.Load("f", []byte("vcenter:\n  10.0.0.1:\n"+configtest.AnAccount+
		"labels:\n  region: r\n  zone: {inventory: cluster}\ntopology:\n  levels: [{label: a, tag: b}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := loaded{d}.effective()
	for _, s := range []*load.Section{c.vcenters[0], c.nodes} {
		for _, f := range config.FieldsOf(s.In) {
			elsewhere := slices.Contains([]string{"secretName", "secretNamespace", "caData"}, f.Key)
			if f.NoEffect == "" && f.Kind != config.KindLevels && s.V(f.Key).Set == elsewhere {
				t.Errorf("%s: shown is %v", f.Key, !elsewhere)
			}
		}
	}
}

func TestEffectiveEnvironment(t *testing.T) {
	environ := []string{"VSPHERE_USER=user", "VSPHERE_PASSWORD=S3cretS3cret", "VSPHERE_INSECURE=1", "VSPHERE_VCENTER_PORT=446"}
	w, err := Effective("f.yaml", []byte("global:\n  port: 444\n  user: u\n  password: p\nvcenter:\n  10.0.0.1:\n    port: 445\n  10.0.0.2:\n"), environ...)
	if err != nil {
		t.Fatal(err)
	}
	showsLines(t, w.Data, map[string]int{
		"user: u # f.yaml:3: global.user\n":                    2,
		"password: '[redacted]' # f.yaml:4: global.password\n": 2,
		"insecureFlag: false # default\n":                      2,
		"port: 445 # f.yaml:7: vcenter[\"10.0.0.1\"].port\n":   1,
		"port: 444 # f.yaml:2: global.port\n":                  1,
		"S3cret":                                               0,
	})
	if len(w.Warnings) != len(environ) {
		t.Errorf("got warnings %v", w.Warnings)
	}
	w, err = Effective("f.yaml", []byte("global:\n  port: 444\n"), append(environ, "VSPHERE_VCENTER=10.0.0.1")...)
	if err != nil {
		t.Fatal(err)
	}
	showsLines(t, w.Data, map[string]int{
		"server: 10.0.0.1 # environment variable VSPHERE_VCENTER\n":        1,
		"user: user # environment variable VSPHERE_USER\n":                 1,
		"password: '[redacted]' # environment variable VSPHERE_PASSWORD\n": 1,
		"insecureFlag: true # environment variable VSPHERE_INSECURE\n":     1,
		"port: 446 # environment variable VSPHERE_VCENTER_PORT\n":          1,
		"S3cret": 0,
	})
	if len(w.Warnings) != len(environ)+1 {
		t.Errorf("got warnings %v", w.Warnings)
	}
}

// showsLines checks the number of occurrences of each line.
func showsLines(t *testing.T, data []byte, lines map[string]int) {
	t.Helper()
	for line, count := range lines {
		if got := strings.Count(string(data), line); got != count {
			t.Errorf("%d times %q in:\n%s", got, line, data)
		}
	}
}

// A line break in the file name must not end the comment.
func TestEffectiveNamesAnyFile(t *testing.T) {
	w, err := Effective("a\nlabels: {zone: x}\u2028#", []byte("vcenter:\n  10.0.0.1:\n"+configtest.AnAccount))
	if err != nil {
		t.Fatal(err)
	}
	c, err := load.Parse("f", w.Data)
	if err != nil || c.Topology.Policy.Labels() != nil {
		t.Errorf("got %v and %v from\n%s", c, err, w.Data)
	}
}

func TestWritersRejectErrors(t *testing.T) {
	data := []byte("vcenter:\n  10.0.0.1:\n    prot: 1\n")
	_, parse := load.Parse("f", data)
	for name, write := range map[string]func() (*Written, error){
		"Effective": func() (*Written, error) { return Effective("f", data) },
		"Convert":   func() (*Written, error) { return ToYAML("f", data, config.SecretRef{Namespace: "n", Name: "s"}) },
	} {
		if w, err := write(); w != nil || err == nil || err.Error() != parse.Error() {
			t.Errorf("%s: got %v and error %v, want %v", name, w, err, parse)
		}
	}
}

// The configuration can be read without the files that it names.
func TestSkipFiles(t *testing.T) {
	data := []byte("vcenter:\n  10.0.0.1:\n    caFile: testdata/ca/not-there.pem\n" + configtest.AnAccount)
	if _, err := load.Parse("f", data); err == nil {
		t.Error("no error for a file that is not there")
	}
	c, err := load.Options{SkipFiles: true}.Parse("f", data)
	if err != nil || c.VCenters[0].CAFile != "testdata/ca/not-there.pem" || c.VCenters[0].CA != nil {
		t.Errorf("got %v and error %v", c, err)
	}
}

// The file's account stays unused if the file names a Secret, whatever the environment sets.
func TestIdleAccountInTheEnvironment(t *testing.T) {
	const file = "global: {secretName: s, secretNamespace: n, user: gu, password: gp}\nvcenter: {a: {server: a.b.c}}\n"
	for variable, why := range map[string]string{
		"VSPHERE_NOTHING=/d":           "has no effect: every vCenter has a Secret",
		"VSPHERE_SECRETS_DIRECTORY=/d": "has no effect: every vCenter has a Secret or the environment variable VSPHERE_SECRETS_DIRECTORY",
	} {
		cfg, err := load.Parse("f", []byte(file), variable)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.DeleteFunc(configtest.WarningsOf(cfg), func(warning string) bool { return !strings.HasPrefix(warning, "f:1: ") })
		if want := []string{"f:1: global.user: " + why, "f:1: global.password: " + why}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", variable, got, want)
		}
		if shown, err := Effective("f", []byte(file), variable); err != nil || strings.Contains(string(shown.Data), "user: gu") {
			t.Errorf("with %s: got the error %v and these values, want them without an idle user:\n%s", variable, err, shown.Data)
		}
	}
}
