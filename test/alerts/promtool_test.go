package alerts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// step is the time between two samples and two evaluations.
const step = 30 * time.Second

// A ruleCase is what promtool plays of a rule. Series are NAME{LABELS} VALUES, in
// promtool's notation; the labels of a target are added, a's unless there is an instance.
type ruleCase struct {
	// fires are series with which it fires, holds when its expression begins to hold
	// with them, and with which labels it then fires.
	fires []string
	holds time.Duration
	with  string
	// quiet are series, each of them a story of its own, with which it never does.
	quiet map[string][]string
}

// How numbers go on: as they are, by one a minute, by n a step.
const (
	zero, one, two = "0x300", "1x300", "2x300"
	rising         = "0+1x300"
)

var ruleCases = map[string]ruleCase{
	"VzonesDown": {
		fires: nil,
		quiet: map[string][]string{
			"a daemon that stands by":       {"vsphere_ccm_leading{} " + zero},
			"a daemon that starts again":    {"vsphere_ccm_leading{} 1x20 _x18 1x300"},
			"a daemon in another namespace": {`vsphere_ccm_leading{namespace="other"} ` + one},
		},
	},
	"VzonesNoLeader": {
		fires: []string{"vsphere_ccm_leading{} " + zero, `vsphere_ccm_leading{instance="b"} ` + zero},
		with:  `job="vzones", namespace="kube-system"`,
		quiet: map[string][]string{
			"one of two leads":   {"vsphere_ccm_leading{} " + zero, `vsphere_ccm_leading{instance="b"} ` + one},
			"they change places": {"vsphere_ccm_leading{} 1x20 0x300", `vsphere_ccm_leading{instance="b"} 0x22 1x300`},
			"no daemon":          nil,
		},
	},
	"VzonesConfigurationRefused": {
		fires: []string{"vsphere_ccm_config_last_reload_successful{} " + one, `vsphere_ccm_config_last_reload_successful{instance="b"} ` + zero},
		with:  `job="vzones", namespace="kube-system"`,
		quiet: map[string][]string{"it is applied": {"vsphere_ccm_config_last_reload_successful{} " + one}, "corrected in time": {"vsphere_ccm_config_last_reload_successful{} 1x5 0x8 1x300"}},
	},
	"VzonesAPIDenied": {
		fires: []string{"vsphere_ccm_leading{} " + one, `rest_client_requests_total{code="403", method="GET", host="h"} ` + rising},
		holds: 2 * time.Minute, with: `code="403", instance="a", job="vzones", namespace="kube-system"`,
		quiet: map[string][]string{
			"all is well":       {"vsphere_ccm_leading{} " + one, `rest_client_requests_total{code="200"} ` + rising},
			"another program's": {`rest_client_requests_total{code="403", job="kubelet"} ` + rising, "vsphere_ccm_leading{} " + one},
			"5xx":               {"vsphere_ccm_leading{} " + one, `rest_client_requests_total{code="503"} ` + rising},
			"once":              {"vsphere_ccm_leading{} " + one, `rest_client_requests_total{code="<error>"} 0x5 9x300`},
		},
	},
	"VzonesVCenterUnreachable": {
		fires: []string{`vsphere_ccm_vcenter_up{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_up{vcenter="east"} ` + one,
			// The tagging API has rejected a login, which is not why the vCenter is not read.
			`vsphere_ccm_vcenter_credentials_rejected{vcenter="west"} ` + one, `vsphere_ccm_vcenter_login_rejected{vcenter="west"} ` + zero},
		with: `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{
			"no credentials":           {`vsphere_ccm_vcenter_up{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_credentials_missing{vcenter="west"} ` + one},
			"a login is rejected":      {`vsphere_ccm_vcenter_up{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_credentials_rejected{vcenter="west"} ` + one, `vsphere_ccm_vcenter_login_rejected{vcenter="west"} ` + one},
			"a certificate":            {`vsphere_ccm_vcenter_up{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_certificate_untrusted{vcenter="west"} ` + one},
			"the vCenter restarts":     {`vsphere_ccm_vcenter_up{vcenter="west"} 1x10 0x18 1x300`},
			"the daemon leads no more": {`vsphere_ccm_vcenter_up{vcenter="west"} 0x10 _x300`, `vsphere_ccm_vcenter_up{vcenter="west", instance="b"} _x11 1x300`},
		},
	},
	"VzonesSnapshotOld": {
		fires: []string{`vsphere_ccm_vcenter_snapshot_age_seconds{vcenter="west"} 0+30x300`, `vsphere_ccm_vcenter_snapshot_age_seconds{vcenter="east"} ` + two},
		holds: 5*time.Minute + step, with: `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{
			"a long poll":          {`vsphere_ccm_vcenter_snapshot_age_seconds{vcenter="west"} 25x300`},
			"exactly the limit":    {`vsphere_ccm_vcenter_snapshot_age_seconds{vcenter="west"} 300x300`},
			"another one reads it": {`vsphere_ccm_vcenter_snapshot_age_seconds{vcenter="west"} 900x300`, `vsphere_ccm_vcenter_snapshot_age_seconds{vcenter="west", instance="b"} 1x300`},
		},
	},
	"VzonesCredentialsRejected": {
		fires: []string{`vsphere_ccm_vcenter_credentials_rejected{vcenter="west"} ` + one, `vsphere_ccm_vcenter_credentials_rejected{vcenter="east"} ` + zero},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{"a rotation": {`vsphere_ccm_vcenter_credentials_rejected{vcenter="west"} 0x5 1x8 0x300`}},
	},
	"VzonesCredentialsMissing": {
		fires: []string{`vsphere_ccm_vcenter_credentials_missing{vcenter="west"} ` + one, `vsphere_ccm_vcenter_credentials_missing{vcenter="east"} ` + zero},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{"a Secret that is replaced": {`vsphere_ccm_vcenter_credentials_missing{vcenter="west"} 0x5 1x8 0x300`}},
	},
	"VzonesCertificateUntrusted": {
		fires: []string{`vsphere_ccm_vcenter_certificate_untrusted{vcenter="west"} ` + one},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{"a renewal": {`vsphere_ccm_vcenter_certificate_untrusted{vcenter="west"} 0x5 1x8 0x300`}},
	},
	"VzonesCertificateExpiresSoon": {
		fires: []string{`vsphere_ccm_vcenter_certificate_expiry_timestamp_seconds{vcenter="west"} 1209599x300`},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{
			"15 days":                                {`vsphere_ccm_vcenter_certificate_expiry_timestamp_seconds{vcenter="west"} 1305000x300`},
			"none with insecureFlag or a thumbprint": {`vsphere_ccm_vcenter_up{vcenter="west"} ` + one},
		},
	},
	"VzonesTagsUnread": {
		fires: []string{`vsphere_ccm_vcenter_tags_known{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one, `vsphere_ccm_vcenter_tags_known{vcenter="east"} ` + one, `vsphere_ccm_vcenter_up{vcenter="east"} ` + one},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{
			"the service restarts": {`vsphere_ccm_vcenter_tags_known{vcenter="west"} 1x5 0x18 1x300`, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one},
			"the vCenter is down":  {`vsphere_ccm_vcenter_tags_known{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_up{vcenter="west"} ` + zero},
			"a login is rejected":  {`vsphere_ccm_vcenter_tags_known{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one, `vsphere_ccm_vcenter_credentials_rejected{vcenter="west"} ` + one},
		},
	},
	"VzonesTagsNotPermitted": {
		fires: []string{`vsphere_ccm_vcenter_unreadable_tag_objects{vcenter="west"} ` + two},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{"none": {`vsphere_ccm_vcenter_unreadable_tag_objects{vcenter="west"} ` + zero}},
	},
	"VzonesInventoryIncomplete": {
		fires: []string{`vsphere_ccm_vcenter_snapshot_complete{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one},
		with:  `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{
			"never read": {`vsphere_ccm_vcenter_snapshot_complete{vcenter="west"} ` + zero, `vsphere_ccm_vcenter_up{vcenter="west"} ` + zero},
			"complete":   {`vsphere_ccm_vcenter_snapshot_complete{vcenter="west"} ` + one, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one},
		},
	},
	"VzonesVCenterRequestsFail": {
		fires: []string{
			`vsphere_ccm_vcenter_requests_total{vcenter="west", call="FindAllByUuid", result="error"} ` + rising,
			`vsphere_ccm_vcenter_requests_total{vcenter="west", call="WaitForUpdatesEx", result="ok"} 0+2x300`, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one,
		},
		holds: step, with: `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{
			"a fifth": {
				`vsphere_ccm_vcenter_requests_total{vcenter="west", call="FindAllByUuid", result="error"} ` + rising,
				`vsphere_ccm_vcenter_requests_total{vcenter="west", call="WaitForUpdatesEx", result="ok"} 0+4x300`, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one,
			},
			"it is down": {`vsphere_ccm_vcenter_requests_total{vcenter="west", call="Login", result="error"} ` + rising, `vsphere_ccm_vcenter_up{vcenter="west"} ` + zero},
			"tags":       {`vsphere_ccm_vcenter_requests_total{vcenter="west", call="tagging: log in", result="error"} ` + rising, `vsphere_ccm_vcenter_up{vcenter="west"} ` + one},
		},
	},
	"VzonesWatchRestarts": {
		fires: []string{`vsphere_ccm_vcenter_watch_starts_total{vcenter="west"} 0+1x300`},
		// Of eleven steps the increase is more than ten.
		holds: 5*time.Minute + step, with: `job="vzones", namespace="kube-system", vcenter="west"`,
		quiet: map[string][]string{"nine in an hour": {`vsphere_ccm_vcenter_watch_starts_total{vcenter="west"} 1x10 2x10 3x10 4x10 5x10 6x10 7x10 8x10 9x200`}},
	},
	"VzonesNodesWaiting": {
		fires: []string{`vsphere_ccm_uninitialized_nodes{outcome="topology_missing"} ` + one, `vsphere_ccm_uninitialized_nodes{outcome="unknown"} ` + zero},
		with:  `job="vzones", namespace="kube-system", outcome="topology_missing"`,
		quiet: map[string][]string{
			"of another provider":   {`vsphere_ccm_uninitialized_nodes{outcome="foreign"} ` + one},
			"another alert's":       {`vsphere_ccm_uninitialized_nodes{outcome="machine_of_two_nodes"} ` + one},
			"a Node joins":          {`vsphere_ccm_uninitialized_nodes{outcome="unknown"} 0x5 1x10 0x300`, `vsphere_ccm_uninitialized_nodes{outcome="address_missing"} 0x15 1x10 0x300`},
			"a powered-off machine": {`vsphere_ccm_nodes{outcome="address_missing"} ` + one, `vsphere_ccm_uninitialized_nodes{outcome="address_missing"} ` + zero},
		},
	},
	"VzonesMachineAmbiguous": {
		fires: []string{`vsphere_ccm_nodes{outcome="machine_of_two_nodes"} ` + two, `vsphere_ccm_nodes{outcome="placed"} 9x300`},
		with:  `job="vzones", namespace="kube-system", outcome="machine_of_two_nodes"`,
		quiet: map[string][]string{"placed": {`vsphere_ccm_nodes{outcome="placed"} ` + two}, "a move between vCenters": {`vsphere_ccm_nodes{outcome="ambiguous"} 0x5 1x18 0x300`}},
	},
	"VzonesNodesUnplaced": {
		fires: []string{`vsphere_ccm_nodes{outcome="topology_missing"} ` + two, `vsphere_ccm_uninitialized_nodes{outcome="topology_missing"} ` + one},
		with:  `job="vzones", namespace="kube-system", outcome="topology_missing"`,
		quiet: map[string][]string{
			"all of them wait":     {`vsphere_ccm_nodes{outcome="topology_missing"} ` + two, `vsphere_ccm_uninitialized_nodes{outcome="topology_missing"} ` + two},
			"the vCenter is down":  {`vsphere_ccm_nodes{outcome="vcenter_unreachable"} ` + two, `vsphere_ccm_uninitialized_nodes{outcome="vcenter_unreachable"} ` + zero},
			"machines powered off": {`vsphere_ccm_nodes{outcome="address_missing"} ` + two, `vsphere_ccm_uninitialized_nodes{outcome="address_missing"} ` + zero},
		},
	},
	"VzonesNodesNotDeleted": {
		fires: []string{`vsphere_ccm_undeleted_nodes{reason="vcenter_unreachable"} ` + one},
		with:  `job="vzones", namespace="kube-system", reason="vcenter_unreachable"`,
		quiet: map[string][]string{
			"not to be deleted": {`vsphere_ccm_undeleted_nodes{reason="deletion_disabled"} ` + one},
			"about to be":       {`vsphere_ccm_undeleted_nodes{reason="being_confirmed"} 0x5 1x5 0x300`},
		},
	},
	"VzonesTopologyDrift": {
		fires: []string{"vsphere_ccm_topology_drifting_nodes{} " + one},
		with:  `job="vzones", namespace="kube-system"`,
		quiet: map[string][]string{"DRS moves and moves back": {"vsphere_ccm_topology_drifting_nodes{} 0x5 1x40 0x10 1x40 0x300"}},
	},
	"VzonesZoneNotUnique": {
		fires: []string{`vsphere_ccm_topology_conflicting_nodes{kind="spans_vcenters"} ` + two},
		with:  `job="vzones", kind="spans_vcenters", namespace="kube-system"`,
		quiet: map[string][]string{"another kind": {`vsphere_ccm_topology_conflicting_nodes{kind="precedence"} ` + two}, "none": {`vsphere_ccm_topology_conflicting_nodes{kind="spans_vcenters"} ` + zero}},
	},
	"VzonesTagsInConflict": {
		fires: []string{`vsphere_ccm_topology_conflicting_nodes{kind="precedence"} ` + two},
		with:  `job="vzones", kind="precedence", namespace="kube-system"`,
		quiet: map[string][]string{"chosen so": {`vsphere_ccm_topology_conflicting_nodes{kind="not_seen_by_csi"} ` + two}, "none": {`vsphere_ccm_topology_conflicting_nodes{kind="precedence"} ` + zero}},
	},
	"VzonesVolumesMisplaced": {
		fires: []string{`vsphere_ccm_topology_conflicting_nodes{kind="region_and_zone"} ` + two},
		with:  `job="vzones", kind="region_and_zone", namespace="kube-system"`,
		quiet: map[string][]string{"chosen so": {`vsphere_ccm_topology_conflicting_nodes{kind="not_seen_by_csi"} ` + two}, "while it is tagged": {`vsphere_ccm_topology_conflicting_nodes{kind="region_and_zone"} 0x5 2x100 0x200`}},
	},
}

type (
	unitTests struct {
		RuleFiles          []string   `yaml:"rule_files"`
		EvaluationInterval string     `yaml:"evaluation_interval"`
		Tests              []unitTest `yaml:"tests"`
	}
	unitTest struct {
		Name     string      `yaml:"name"`
		Interval string      `yaml:"interval"`
		Series   []series    `yaml:"input_series"`
		Exprs    []exprCheck `yaml:"promql_expr_test"`
	}
	series struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	exprCheck struct {
		Expr     string   `yaml:"expr"`
		EvalTime string   `yaml:"eval_time"`
		Samples  []sample `yaml:"exp_samples"`
	}
	sample struct {
		Labels string  `yaml:"labels"`
		Value  float64 `yaml:"value"`
	}
)

// unitTestsOf returns what promtool is to play of a rule.
func unitTestsOf(t *testing.T, r *rule, c ruleCase) []unitTest {
	t.Helper()
	firing := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing"}`, r.Alert)
	labels := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", severity=%q}`, r.Alert, r.Labels["severity"])
	if c.with != "" {
		labels = strings.TrimSuffix(labels, "}") + ", " + c.with + "}"
	}
	at := c.holds + r.wait(t)
	tests := []unitTest{{
		Name: r.Alert + " fires", Interval: step.String(), Series: seriesOf(c.fires),
		Exprs: []exprCheck{
			{Expr: firing, EvalTime: (at - step).String()},
			{Expr: firing, EvalTime: at.String(), Samples: []sample{{labels, 1}}},
		},
	}}
	for story, s := range c.quiet {
		q := unitTest{Name: r.Alert + " is quiet: " + story, Interval: step.String(), Series: seriesOf(s)}
		for _, at := range []time.Duration{10 * time.Minute, 30 * time.Minute, 45 * time.Minute, time.Hour, 2 * time.Hour} {
			q.Exprs = append(q.Exprs, exprCheck{Expr: firing, EvalTime: at.String()})
		}
		tests = append(tests, q)
	}
	return tests
}

// seriesOf gives series the labels of a target that they do not have.
func seriesOf(lines []string) []series {
	all := []series{}
	for _, line := range lines {
		name, values, _ := strings.Cut(line, "} ")
		for _, label := range []string{`namespace="kube-system"`, `job="vzones"`, `instance="a"`} {
			key, _, _ := strings.Cut(label, "=")
			if !strings.Contains(name, key+"=") {
				name += ", " + label
			}
		}
		all = append(all, series{strings.Replace(name, "{, ", "{", 1) + "}", values})
	}
	return all
}

// TestRules: promtool finds the rules in order, and each fires when it should, not a step
// earlier, and not when it should not.
func TestRules(t *testing.T) {
	promtool := tool("promtool")
	if _, err := os.Stat(promtool); err != nil && missing != nil {
		t.Skip("make alerts builds promtool:", err)
	}
	file, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	all := unitTests{RuleFiles: []string{file}, EvaluationInterval: step.String()}
	rules := readRules(t).rules()
	for i := range rules {
		c, ok := ruleCases[rules[i].Alert]
		if !ok || len(c.quiet) == 0 {
			t.Errorf("nothing says when %s fires, or when it does not", rules[i].Alert)
		}
		all.Tests = append(all.Tests, unitTestsOf(t, &rules[i], c)...)
	}
	if len(ruleCases) != len(rules) {
		t.Errorf("%d cases of %d rules", len(ruleCases), len(rules))
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cases := filepath.Join(t.TempDir(), "cases.yaml")
	if err := os.WriteFile(cases, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", file}, {"test", "rules", cases}} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
