package config

import (
	"reflect"
	"slices"
	"testing"
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
		}
	}
}

// TestAnyDifferenceCounts, also one that has no effect.
func TestAnyDifferenceCounts(t *testing.T) {
	before, elsewhere := &Config{VCenters: []VCenter{{Name: "east", At: "f:1: east"}}}, &Config{VCenters: []VCenter{{Name: "east", At: "f:2: east"}}}
	if d := Diff(before, before); d.Any {
		t.Errorf("the same differs: %+v", d)
	}
	if d := Diff(before, elsewhere); !d.Any || len(d.VCenters) > 0 || d.String() != "nothing that has an effect" {
		t.Errorf("what is written elsewhere: %+v", d)
	}
}
