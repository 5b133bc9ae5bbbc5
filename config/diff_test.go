package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// alter changes a zero value.
func alter(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		element := reflect.New(v.Type().Elem()).Elem()
		alter(t, element)
		v.Set(reflect.Append(v, element))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"a": "b"}))
	case reflect.Interface:
		v.Set(reflect.ValueOf(labels.SelectorFromSet(labels.Set{"a": "b"})))
	case reflect.Struct:
		switch {
		case v.Type() == reflect.TypeFor[Password]():
			v.Set(reflect.ValueOf(NewPassword("another made-up password")))
		case v.Field(0).CanSet():
			alter(t, v.Field(0))
		}
	default:
		t.Fatalf("cannot alter a value of type %s", v.Type())
	}
}

func TestEqualKnowsEachField(t *testing.T) {
	a := VCenter{Password: NewPassword("a made-up password")}
	same := VCenter{Password: NewPassword("a made-up password"), Datacenters: []string{}, CA: []byte{}}
	if !a.Equal(&same) || !same.Equal(&a) {
		t.Error("not equal, though nothing differs")
	}
	ignored := []string{"At", "TrustAt", "CAFile"}
	for field := range reflect.TypeFor[VCenter]().Fields() {
		b := a
		alter(t, reflect.ValueOf(&b).Elem().FieldByIndex(field.Index))
		want := slices.Contains(ignored, field.Name)
		if a.Equal(&b) != want || b.Equal(&a) != want {
			t.Errorf("%s differs: got equal %t", field.Name, !want)
		}
		got := Diff(&Config{VCenters: []VCenter{a}}, &Config{VCenters: []VCenter{b}})
		setting, isOne := strings.CutPrefix(got, `vCenter "" changed: `)
		if !want && field.Name != "Name" && (!isOne || setting == "" || strings.ContainsAny(got, ",;")) || strings.Contains(got, "made-up") {
			t.Errorf("%s differs: the changes are %q", field.Name, got)
		}
	}
}

// TestEachSettingIsShown changes each field outside of the vCenters.
func TestEachSettingIsShown(t *testing.T) {
	for name, of := range map[string]func(*Config) any{
		"Topology":  func(c *Config) any { return &c.Topology },
		"Policy":    func(c *Config) any { return &c.Topology.Policy },
		"Addresses": func(c *Config) any { return &c.Addresses },
		"Config":    func(c *Config) any { return c },
	} {
		for i := range reflect.ValueOf(of(&Config{})).Elem().NumField() {
			before, now := &Config{}, &Config{}
			field := reflect.TypeOf(of(now)).Elem().Field(i).Name
			if slices.Contains([]string{"Policy", "Invisible", "Visible", "File", "Files", "VCenters", "Topology", "Addresses", "Warnings"}, field) {
				continue // These have fields of their own or no effect.
			}
			alter(t, reflect.ValueOf(of(now)).Elem().Field(i))
			if got := Diff(before, now); !strings.Contains(got, " from ") {
				t.Errorf("the difference after a change of %s.%s is %q, want the old and the new value", name, field, got)
			}
		}
	}
}

func TestAnyDifferenceCounts(t *testing.T) {
	before, elsewhere := &Config{VCenters: []VCenter{{Name: "east", At: "f:1: east"}}}, &Config{VCenters: []VCenter{{Name: "east", At: "f:2: east"}}}
	if got := Diff(before, before); got != "" {
		t.Errorf("the same differs: %s", got)
	}
	if got := Diff(before, elsewhere); got != "nothing that has an effect" {
		t.Errorf("another position: %s", got)
	}
}

func TestConsiders(t *testing.T) {
	for _, c := range []struct {
		networks, exclude []string
		network           string
		want              bool
	}{
		{nil, nil, "VM Network", true},
		{nil, nil, "", true},
		{[]string{"VM Network"}, nil, "vm network", true},
		{[]string{"VM Network"}, nil, "VM Network 2", false},
		{[]string{"VM Network"}, nil, "", false},
		{[]string{"a", "b"}, nil, "b", true},
		{[]string{"*"}, nil, "", true},
		{[]string{"prod-*"}, nil, "PROD-1", true},
		{[]string{"prod-*"}, nil, "prod-", true},
		{[]string{"prod-*"}, nil, "a-prod-1", false},
		{[]string{"*-prod"}, nil, "a-prod", true},
		{[]string{"*-prod"}, nil, "a-prod-prod", true},
		{[]string{"*-prod"}, nil, "a-prod-1", false},
		{[]string{"a*a"}, nil, "a", false},
		{[]string{"a*a"}, nil, "aa", true},
		{[]string{"a*b*c"}, nil, "abxbc", true},
		{[]string{"a*b*c"}, nil, "acb", false},
		{[]string{"a**c"}, nil, "abc", true},
		{[]string{"*b*"}, nil, "abc", true},
		{[]string{"*b*"}, nil, "ac", false},
		{nil, []string{"backup"}, "Backup", false},
		{nil, []string{"backup"}, "prod", true},
		{[]string{"prod-*"}, []string{"*-backup"}, "prod-backup", false},
		{[]string{"prod-*"}, []string{"*-backup"}, "prod-1", true},
		{[]string{"a/b"}, nil, "a%2fb", true},
		{[]string{`*\B`}, nil, "a%5Cb", true},
		{[]string{"a%2fb"}, nil, "a%2fb", true},
		{[]string{"a%2fb"}, nil, "a%252fb", true},
		{[]string{"a/b"}, nil, "a%252fb", false},
		{nil, []string{"100%"}, "100%25", false},
	} {
		rules := AddressRules{Networks: c.networks, ExcludeNetworks: c.exclude}
		if got := rules.Considers(c.network); got != c.want {
			t.Errorf("networks %q, excludeNetworks %q: %q counts: %v, want %v", c.networks, c.exclude, c.network, got, c.want)
		}
	}
}
