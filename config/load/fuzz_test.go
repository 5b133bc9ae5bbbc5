package load

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vzones/config"
	"vzones/config/configtest"
	"vzones/topology"
)

// FuzzParse checks what holds for any file: no panic, a Config or Errors with
// their lines, the same each time, and no password in what is printed.
func FuzzParse(f *testing.F) {
	for _, folder := range []string{"good", "mistakes", "ini-good", "ini-mistakes", "outcomes"} {
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
		if !reflect.DeepEqual(again, cfg) || !reflect.DeepEqual(errAgain, err) {
			t.Errorf("got another result the second time:\n%v\n%v", printed, errAgain)
		}
	})
}

// checkConfig checks what holds for any Config.
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
			t.Errorf("bad position: %q, %q", vc.At, vc.TrustAt)
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
