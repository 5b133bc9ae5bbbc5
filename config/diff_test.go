package config

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"vzones/topology"
)

// TestEqualKnowsEachField changes one field after the other.
func TestEqualKnowsEachField(t *testing.T) {
	a := VCenter{Password: NewPassword("a made-up password")}
	same := VCenter{Password: NewPassword("a made-up password"), Datacenters: []string{}, CA: []byte{}}
	if !a.Equal(&same) || !same.Equal(&a) {
		t.Error("not equal, though nothing differs")
	}
	ignored := []string{"At", "TrustAt", "CAFile"}
	for field := range reflect.TypeFor[VCenter]().Fields() {
		b := a
		into := reflect.ValueOf(&b).Elem().FieldByIndex(field.Index)
		switch into.Interface().(type) {
		case string:
			into.SetString("x")
		case int:
			into.SetInt(1)
		case bool:
			into.SetBool(true)
		case []string:
			into.Set(reflect.ValueOf([]string{"x"}))
		case []byte:
			into.SetBytes([]byte("x"))
		case Password:
			into.Set(reflect.ValueOf(NewPassword("another made-up password")))
		case SecretRef:
			into.Set(reflect.ValueOf(SecretRef{Namespace: "x"}))
		default:
			t.Fatalf("%s: a %s", field.Name, field.Type)
		}
		if want := slices.Contains(ignored, field.Name); a.Equal(&b) != want || b.Equal(&a) != want {
			t.Errorf("%s differs: got equal %t", field.Name, !want)
		} else if got := Diff(&Config{VCenters: []VCenter{a}}, &Config{VCenters: []VCenter{b}}); !want && field.Name != "Name" &&
			(!strings.HasPrefix(got, `vCenter "" changed: `) || strings.HasSuffix(got, ": ") || strings.ContainsAny(got, ",;") || strings.Contains(got, "made-up")) {
			t.Errorf("%s differs: the changes are %q", field.Name, got)
		}
	}
}

// TestEachSettingIsShown changes one field after the other of what no vCenter has.
func TestEachSettingIsShown(t *testing.T) {
	for name, of := range map[string]func(*Config) any{
		"Topology":  func(c *Config) any { return &c.Topology },
		"Policy":    func(c *Config) any { return &c.Topology.Policy },
		"Addresses": func(c *Config) any { return &c.Addresses },
		"Config":    func(c *Config) any { return c },
	} {
		for i := range reflect.ValueOf(of(&Config{})).Elem().NumField() {
			before, now := &Config{}, &Config{}
			into := reflect.ValueOf(of(now)).Elem().Field(i)
			field := reflect.TypeOf(of(now)).Elem().Field(i).Name
			if slices.Contains([]string{"Policy", "Invisible", "Visible", "File", "Files", "VCenters", "Topology", "Addresses", "Warnings"}, field) {
				continue // have fields of their own, or no effect
			}
			var want string
			if field == "NodeSelector" {
				into.Set(reflect.ValueOf(labels.SelectorFromSet(labels.Set{"a": "b"})))
				want = "from none to a=b"
			}
			switch into.Interface().(type) {
			case labels.Selector:
			case bool:
				into.SetBool(true)
				want = "from false to true"
			case string, Drift, topology.Precedence:
				into.SetString("x")
				want = "from none to x"
			case time.Duration:
				into.SetInt(int64(time.Minute))
				want = "from 0s to 1m0s"
			case []string:
				into.Set(reflect.ValueOf([]string{"x", "y"}))
				want = "from none to x,y"
			case []topology.PathKind:
				into.Set(reflect.ValueOf([]topology.PathKind{topology.FolderPath}))
				want = "from none to folder"
			case []netip.Prefix:
				into.Set(reflect.ValueOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}))
				want = "from none to 10.0.0.0/8"
			case map[string]string:
				into.Set(reflect.ValueOf(map[string]string{"a": "b"}))
				want = "from none to a=b"
			case topology.Rules:
				into.Set(reflect.ValueOf(topology.Rules{{Label: "l", Category: "c"}}))
				want = "label l from none to tag c"
			default:
				t.Fatalf("%s.%s: a %s", name, field, into.Type())
			}
			if got := Diff(before, now); !strings.Contains(got, want) {
				t.Errorf("%s.%s: %q", name, field, got)
			}
		}
	}
}

// TestAnyDifferenceCounts, also one that has no effect.
func TestAnyDifferenceCounts(t *testing.T) {
	before, elsewhere := &Config{VCenters: []VCenter{{Name: "east", At: "f:1: east"}}}, &Config{VCenters: []VCenter{{Name: "east", At: "f:2: east"}}}
	if got := Diff(before, before); got != "" {
		t.Errorf("the same differs: %s", got)
	}
	if got := Diff(before, elsewhere); got != "nothing that has an effect" {
		t.Errorf("another position: %s", got)
	}
}
