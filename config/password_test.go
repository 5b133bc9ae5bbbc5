package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"k8s.io/klog/v2/textlogger"

	"gopkg.in/yaml.v3"

	"vzones/config"
)

const theSecret = "hunter2-äß\"secret"

const redacted = "[redacted]"

// hidden fails if text contains the secret in any of fmt's encodings.
func hidden(t *testing.T, how, text string) {
	t.Helper()
	for _, verb := range []string{"%s", "%x", "%X", "% x", "%v", "%d", "%#v", "%q"} {
		for _, form := range []string{fmt.Sprintf(verb, theSecret), fmt.Sprintf(verb, []byte(theSecret))} {
			if strings.Contains(text, strings.Trim(form, `"[]`)) {
				t.Errorf("%s shows the secret: %s", how, text)
			}
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("%s shows the secret: %s", how, text)
	}
}

func TestPasswordIsPrintedByNoVerb(t *testing.T) {
	p := config.NewPassword(theSecret)
	type outer struct {
		Exported   config.Password
		unexported config.Password
		nested     config.VCenter
		pointer    *config.Password
		list       []config.Password
		keyed      map[string]config.Password
		any        any
	}
	values := map[string]any{
		"value":   p,
		"pointer": &p,
		"list":    []config.Password{p},
		"keyed":   map[string]config.Password{"a": p},
		"vcenter": config.VCenter{Name: "east", Password: p},
		"config":  &config.Config{VCenters: []config.VCenter{{Password: p}}},
		"outer": outer{p, p, config.VCenter{Password: p}, &p, []config.Password{p},
			map[string]config.Password{"a": p}, p},
	}
	verbs := "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!"
	for name, value := range values {
		for _, verb := range verbs {
			for _, flags := range []string{"", "+", "#", "-", " ", "0", "20", ".3", "+#", "*"} {
				format := "%" + flags + string(verb)
				args := []any{value}
				if flags == "*" {
					args = []any{7, value}
				}
				hidden(t, name+" with "+format, fmt.Sprintf(format, args...))
			}
		}
		hidden(t, name+" as a width", fmt.Sprintf("%*d", value, 1))
	}
	for _, format := range []string{"%v", "%s", "%q", "%x", "%d", "%+v", "%#v", "%20s"} {
		if got := fmt.Sprintf(format, p); got != redacted {
			t.Errorf("%s: got %q, want %s", format, got, redacted)
		}
	}
}

func TestPasswordIsEncodedByNothing(t *testing.T) {
	c := config.Config{VCenters: []config.VCenter{{Name: "east", Password: config.NewPassword(theSecret)}}}
	asJSON, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	hidden(t, "JSON", string(asJSON))
	if !strings.Contains(string(asJSON), `"Password":"[redacted]"`) {
		t.Errorf("JSON: %s", asJSON)
	}
	asYAML, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	hidden(t, "YAML", string(asYAML))
	if !strings.Contains(string(asYAML), `password: '[redacted]'`) {
		t.Errorf("YAML: %s", asYAML)
	}
	asText, err := c.VCenters[0].Password.MarshalText()
	if err != nil || string(asText) != redacted {
		t.Errorf("MarshalText = %q, %v, want %q", asText, err, redacted)
	}
}

func TestPasswordIsLoggedByNothing(t *testing.T) {
	p := config.NewPassword(theSecret)
	vc := config.VCenter{Name: "east", Password: p}
	var out bytes.Buffer
	for _, logger := range []*slog.Logger{
		slog.New(slog.NewTextHandler(&out, nil)),
		slog.New(slog.NewJSONHandler(&out, nil)),
	} {
		logger.Info("login", "password", p, "vcenter", vc, "pointer", &vc, slog.Any("any", p))
	}
	klogger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(10)))
	klogger.Info("login", "password", p, "vcenter", vc, "pointer", &vc, "list", []config.Password{p})
	klogger.Error(fmt.Errorf("login with %+v", vc), "failed", "map", map[string]any{"p": p})
	if strings.Count(out.String(), redacted) < 6 {
		t.Errorf("the logs lack %s:\n%s", redacted, out.String())
	}
	hidden(t, "log", out.String())
}

func TestPasswordReveal(t *testing.T) {
	p := config.NewPassword(theSecret)
	if p.Reveal() != theSecret || p.IsEmpty() {
		t.Errorf("got %q back", p.Reveal())
	}
	var none config.Password
	if none.Reveal() != "" || !none.IsEmpty() || fmt.Sprintf("%v%q%#v", none, none, none) != "" {
		t.Errorf("the empty password prints as %q", fmt.Sprintf("%v%q%#v", none, none, none))
	}
	if !config.NewPassword("").Equal(none) || !reflect.DeepEqual(config.NewPassword(""), none) {
		t.Errorf("an empty password is not the zero value")
	}
	same, other := config.NewPassword(strings.Clone(theSecret)), config.NewPassword("other")
	if !p.Equal(same) || p.Equal(other) || p.Equal(none) {
		t.Errorf("Equal does not compare the secrets")
	}
	if !reflect.DeepEqual(config.VCenter{Password: p}, config.VCenter{Password: same}) ||
		reflect.DeepEqual(config.VCenter{Password: p}, config.VCenter{Password: other}) {
		t.Errorf("reflect.DeepEqual does not compare the secrets")
	}
}
