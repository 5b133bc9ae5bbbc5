package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vzones/config"
)

// override is a key of the global section and of an entry, and what a vCenter has of
// the one and of the other.
type override struct {
	global, entry         string
	is                    func(vc *config.VCenter) any
	wantGlobal, wantEntry any
}

func overrides() []override {
	const ca = "caFile: testdata/ca/ca.pem"
	file := func(vc *config.VCenter) any { return vc.CAFile }
	thumbprint := func(vc *config.VCenter) any { return vc.Thumbprint }
	secret := func(vc *config.VCenter) any { return vc.Secret.Namespace + "/" + vc.Secret.Name }
	fingerprint := func(pair string) string { return strings.Trim(strings.Repeat(pair+":", 20), ":") }
	return []override{
		{"user: g", "user: e", func(vc *config.VCenter) any { return vc.User }, "g", "e"},
		{"password: g", "password: e", func(vc *config.VCenter) any { return vc.Password.Reveal() }, "g", "e"},
		{"port: 8443", "port: 443", func(vc *config.VCenter) any { return vc.Port }, 8443, 443},
		{"insecureFlag: true", "insecureFlag: false", func(vc *config.VCenter) any { return vc.Insecure }, true, false},
		{"insecureFlag: false", "insecureFlag: true", func(vc *config.VCenter) any { return vc.Insecure }, false, true},
		{"datacenters: [a, b]", "datacenters: [c]", func(vc *config.VCenter) any { return vc.Datacenters }, "[a b]", "[c]"},
		{"soapRoundtripCount: 5", "soapRoundtripCount: 3", func(vc *config.VCenter) any { return vc.RoundTrips }, 5, 3},
		{"ipFamily: [ipv6]", "ipFamily: [ipv4]", func(vc *config.VCenter) any { return vc.IPFamilies }, "[ipv6]", "[ipv4]"},
		{ca, "caFile: testdata/ca/../ca/ca.pem", file, "testdata/ca/ca.pem", "testdata/ca/../ca/ca.pem"},
		{ca, "caData: system", file, "testdata/ca/ca.pem", ""},
		{"thumbprint: " + fingerprint("AB"), "thumbprint: " + fingerprint("CD"), thumbprint, fingerprint("AB"), fingerprint("CD")},
		{"thumbprint: " + fingerprint("AB"), "thumbprint: none", thumbprint, fingerprint("AB"), ""},
		{"secretName: g\nsecretNamespace: n", "secretName: e\nsecretNamespace: m", secret, "n/g", "m/e"},
	}
}

// TestEntriesOverrideGlobal: an entry without a key has the global section's, one
// with it its own, in either format.
func TestEntriesOverrideGlobal(t *testing.T) {
	tested := []string{"server"} // The global one is a vCenter of its own.
	for _, o := range overrides() {
		for line := range strings.Lines(o.entry) {
			key, _, _ := strings.Cut(line, ":")
			tested = append(tested, key)
		}
		global := o.global + "\n"
		for _, key := range []string{"user", "password"} {
			if !strings.HasPrefix(o.global, key) {
				global += key + ": g\n"
			}
		}
		indented := func(lines, by string) string {
			return by + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n"+by) + "\n"
		}
		texts := []string{"global:\n" + indented(global, "  ") +
			"vcenter:\n  10.0.0.1: {}\n  10.0.0.2:\n" + indented(o.entry, "    ")}
		if !strings.HasPrefix(o.entry, "caData") && !strings.HasPrefix(o.entry, "index") {
			texts = append(texts, "[Global]\n"+asKeysOfINI(global)+
				"[VirtualCenter \"10.0.0.1\"]\n[VirtualCenter \"10.0.0.2\"]\n"+asKeysOfINI(o.entry))
		}
		for _, text := range texts {
			cfg, err := Parse("f", []byte(text))
			if err != nil {
				t.Errorf("%s\n%v", text, err)
				continue
			}
			for i, want := range []any{o.wantGlobal, o.wantEntry} {
				if got := o.is(&cfg.VCenters[i]); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s\nvCenter %d: got %v, want %v", text, i+1, got, want)
				}
			}
		}
	}
	for _, f := range config.FieldsOf(config.SectionEntry) {
		if f.NoEffect == "" && !slices.Contains(tested, f.Key) {
			t.Errorf("no case for %s", f.Key)
		}
	}
}

// asKeysOfINI writes lines of YAML as the INI format does.
func asKeysOfINI(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		fmt.Fprintf(&b, "%s = %s\n", Dash(key), strings.Trim(value, "[]"))
	}
	return b.String()
}
