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

// A ruleCase is what promtool plays of a rule: testdata/rules.yaml explains it.
type ruleCase struct {
	Fires []string
	Holds time.Duration
	With  string
	Quiet map[string][]string
}

// A unitTest is one of promtool.
type unitTest struct {
	Name     string
	Interval string
	Series   []series    `yaml:"input_series"`
	Exprs    []exprCheck `yaml:"promql_expr_test"`
}

type series struct{ Series, Values string }

type exprCheck struct {
	Expr     string
	EvalTime string   `yaml:"eval_time"`
	Samples  []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string
	Value  float64
}

// unitTestsOf returns what promtool is to play of a rule.
func unitTestsOf(t *testing.T, r *rule, c ruleCase) []unitTest {
	t.Helper()
	firing := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing"}`, r.Alert)
	labels := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", severity=%q}`, r.Alert, r.Labels["severity"])
	if c.With != "" {
		labels = strings.TrimSuffix(labels, "}") + ", " + c.With + "}"
	}
	at := c.Holds + r.wait(t)
	tests := []unitTest{{
		Name: r.Alert + " fires", Interval: step.String(), Series: seriesOf(c.Fires),
		Exprs: []exprCheck{
			{Expr: firing, EvalTime: (at - step).String()},
			{Expr: firing, EvalTime: at.String(), Samples: []sample{{labels, 1}}},
		},
	}}
	for story, s := range c.Quiet {
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
	var ruleCases map[string]ruleCase
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join("testdata", "rules.yaml"))), &ruleCases); err != nil {
		t.Fatal(err)
	}
	var tests []unitTest
	rules := readRules(t).rules()
	for i := range rules {
		c, ok := ruleCases[rules[i].Alert]
		if !ok || len(c.Quiet) == 0 {
			t.Errorf("nothing says when %s fires, or when it does not", rules[i].Alert)
		}
		tests = append(tests, unitTestsOf(t, &rules[i], c)...)
	}
	if len(ruleCases) != len(rules) {
		t.Errorf("%d cases of %d rules", len(ruleCases), len(rules))
	}
	text, err := yaml.Marshal(map[string]any{"rule_files": []string{file}, "evaluation_interval": step.String(), "tests": tests})
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
