package load

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/topology"
)

func TestMistakes(t *testing.T) { testMistakes(t, "mistakes", 190) }

func TestINIMistakes(t *testing.T) { testMistakes(t, "ini-mistakes", 70) }

func testMistakes(t *testing.T, folder string, least int) {
	configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		cfg, err := Parse(file, data)
		if err == nil || cfg != nil {
			t.Fatalf("got %v and error %v, want an error alone", cfg, err)
		}
		c.Golden(t, ".txt", err.Error()+"\n")
		checkErrors(t, file, data, err)
		// The second is the same in base64.
		if strings.Contains(err.Error(), "S3cret") || strings.Contains(err.Error(), "UzNjcmV0") {
			t.Errorf("the error holds a secret")
		}
	})
}

// checkErrors checks what holds for the error of any file.
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
		if e.File != file || e.Line < 1 || e.Line > last || e.Message == "" {
			t.Errorf("bad error: %#v", e)
		}
		if strings.ContainsAny(e.Error(), "\n\r") {
			t.Errorf("not on one line: %q", e.Error())
		}
		if slices.Contains(all[:i], e) {
			t.Errorf("reported twice: %v", e)
		}
		if !errors.Is(err, e) {
			t.Errorf("not unwrapped: %v", e)
		}
	}
}

func TestFiveMistakesAtOnce(t *testing.T) {
	path := configtest.Path(t, "mistakes", "five.yaml")
	_, err := Read(path)
	all, _ := errors.AsType[config.Errors](err)
	var lines []int
	for _, e := range all {
		lines = append(lines, e.Line)
	}
	if want := []int{2, 3, 6, 11, 15}; !slices.Equal(lines, want) {
		t.Errorf("got lines %v, want %v:\n%v", lines, want, err)
	}
	for line := range strings.Lines(err.Error()) {
		if !strings.HasPrefix(line, path+":") {
			t.Errorf("does not name the file: %q", line)
		}
	}
}

func TestGood(t *testing.T) { testGood(t, "good", 15) }

func TestINIGood(t *testing.T) { testGood(t, "ini-good", 12) }

func testGood(t *testing.T, folder string, least int) {
	configtest.Each(t, folder, least, func(t *testing.T, c configtest.Case) {
		file, data := c.File, c.Data
		cfg, err := Parse(file, data)
		if err != nil {
			t.Fatal(err)
		}
		c.Golden(t, ".txt", dump(cfg))
		if strings.Contains(fmt.Sprint(cfg.Warnings), "S3cret") {
			t.Errorf("a warning holds a secret: %v", cfg.Warnings)
		}
		for _, vc := range cfg.VCenters {
			if vc.CAFile != "" && !bytes.Contains(vc.CA, []byte("BEGIN CERTIFICATE")) {
				t.Errorf("vCenter %q: no CA beside its file", vc.Name)
			}
		}
	})
}

// dump renders what is in force, one setting a line.
func dump(c *config.Config) string {
	var b strings.Builder
	line := func(name string, value any) {
		switch text := fmt.Sprint(value); text {
		case "", "[]", "false":
		default:
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	for _, vc := range c.VCenters {
		fmt.Fprintf(&b, "vcenter %q\n", vc.Name)
		line("  server", fmt.Sprintf("%s port %d", vc.Server, vc.Port))
		line("  datacenters", strings.Join(vc.Datacenters, " | "))
		user := vc.User
		if IsPEM(user) {
			user = "a certificate"
		}
		line("  user", user)
		line("  password", vc.Password)
		line("  secret", strings.Trim(vc.Secret.Namespace+"/"+vc.Secret.Name, "/"))
		line("  secrets directory", vc.SecretsDirectory)
		line("  insecure", vc.Insecure)
		line("  ca file", vc.CAFile)
		if vc.CAFile == "" && len(vc.CA) > 0 {
			sound, _ := Certificates(vc.CA)
			line("  ca certificates", len(sound))
		}
		line("  thumbprint", vc.Thumbprint)
		line("  round trips", vc.RoundTrips)
		line("  ip families", vc.IPFamilies)
	}
	line("files", c.Files)
	dumpTopology(&b, &c.Topology)
	line("internal subnets", c.Addresses.InternalSubnets)
	line("external subnets", c.Addresses.ExternalSubnets)
	line("internal network", c.Addresses.InternalNetwork)
	line("external network", c.Addresses.ExternalNetwork)
	line("exclude internal", c.Addresses.ExcludeInternalSubnets)
	line("exclude external", c.Addresses.ExcludeExternalSubnets)
	line("networks", strings.Join(c.Addresses.Networks, " | "))
	line("exclude networks", strings.Join(c.Addresses.ExcludeNetworks, " | "))
	line("node selector", c.NodeSelector)
	for _, key := range slices.Sorted(maps.Keys(c.NodeLabels)) {
		fmt.Fprintf(&b, "node label %s=%s\n", key, c.NodeLabels[key])
	}
	line("skip node deletion", c.SkipNodeDeletion)
	line("no match by name", !c.MatchByName)
	for _, w := range c.Warnings {
		fmt.Fprintf(&b, "warning %v\n", w)
	}
	return b.String()
}

func dumpTopology(b *strings.Builder, t *config.Topology) {
	for _, rules := range []topology.Rules{t.Policy.Rules, t.Policy.Levels} {
		for _, rule := range rules {
			source := fmt.Sprintf("category %q", rule.Category)
			if rule.Inventory != "" {
				source = "inventory " + string(rule.Inventory)
			}
			if rule.HostGroup != "" {
				source = fmt.Sprintf("host group %q", rule.HostGroup)
			}
			if rule.Value != nil {
				source += fmt.Sprintf(" value %v", rule.Value)
			}
			fmt.Fprintf(b, "label %s: %s required %t", rule.Label, source, rule.Required)
			if rule.Nested {
				b.WriteString(" nested")
			}
			b.WriteString("\n")
		}
	}
	// What holds unless configured is checked once, and not in each file.
	if !slices.Equal(t.Policy.Paths, topology.DefaultPaths()) {
		fmt.Fprintf(b, "paths: %q\n", t.Policy.Paths)
	}
	if t.Policy.Precedence != topology.PrecedenceCSI {
		fmt.Fprintf(b, "precedence: %s\n", t.Policy.Precedence)
	}
	if !t.Backfill || t.Drift != config.DriftReport || t.Settle != time.Minute {
		fmt.Fprintf(b, "backfill: %t drift: %s settle: %s\n", t.Backfill, t.Drift, t.Settle)
	}
}
