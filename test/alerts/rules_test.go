package alerts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

var (
	root          = filepath.Join("..", "..")
	rulesFile     = filepath.Join(root, "manifests", "chart", "files", "alerts.yaml")
	dashboardFile = filepath.Join(root, "manifests", "chart", "files", "dashboard.json")
)

// A rule is one alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// wait is how long the expression has to hold.
func (r *rule) wait(t *testing.T) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(r.For)
	if err != nil {
		t.Fatalf("%s: %v", r.Alert, err)
	}
	return d
}

// ruleGroups is the whole file.
type ruleGroups struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

func readRules(t *testing.T) *ruleGroups {
	t.Helper()
	text, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var all ruleGroups
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return &all
}

func (g *ruleGroups) rules() []rule {
	var all []rule
	for _, group := range g.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// hurried returns the rules with times that are a hundredth of what they are, at least
// two seconds, and the expressions as they are.
func hurried(t *testing.T) []byte {
	t.Helper()
	all := readRules(t)
	for i := range all.Groups {
		for j := range all.Groups[i].Rules {
			r := &all.Groups[i].Rules[j]
			r.For = max(r.wait(t)/100, 2*time.Second).Round(time.Second).String()
		}
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A panel is one of the dashboard.
type panel struct {
	Type, Title string
	Targets     []struct{ Expr string }
}

func readPanels(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Panels []panel }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all.Panels
}
