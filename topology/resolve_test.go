package topology

import (
	"errors"
	"strings"
	"testing"
)

// outcomeOf returns nil for an error that is none of the outcomes.
func outcomeOf(err error) error {
	for _, outcome := range []error{ErrAbsent, ErrUnknown, ErrAmbiguous, ErrMissing, ErrInvalid} {
		if errors.Is(err, outcome) {
			return outcome
		}
	}
	return nil
}

func TestNoRulesMeansNoLabels(t *testing.T) {
	p, err := Resolve(Policy{}, nil)
	if err != nil || len(p.Decisions) != 0 {
		t.Errorf("got %v, %v", p, err)
	}
}

func TestNoPathIsUnknown(t *testing.T) {
	_, err := Resolve(Policy{Rules: Rules{{Label: LabelZone, Category: "zone", Required: true}}}, nil)
	if !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestBrokenPathKeepsItsCause(t *testing.T) {
	cause := errors.New("no privilege")
	_, err := Resolve(Policy{Rules: Rules{{Label: LabelZone, Category: "zone", Required: true}}},
		[]Path{{Kind: ComputePath, Objects: []*Object{{}}, Broken: cause}})
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestLabelValues(t *testing.T) {
	for value, valid := range map[string]bool{
		"a": true, "A-1_b.c": true, "0": true, strings.Repeat("x", 63): true,
		"": false, "-a": false, "a-": false, ".": false, "a b": false, "ä": false, "a/b": false,
		strings.Repeat("x", 64): false,
	} {
		if got := InvalidLabelValue(value) == ""; got != valid {
			t.Errorf("%q: valid is %v, want %v", value, got, valid)
		}
	}
}

func TestReservedDomain(t *testing.T) {
	for key, want := range map[string]string{
		LabelZone: "kubernetes.io", "kubernetes.io/rack": "kubernetes.io", "node-restriction.kubernetes.io/x": "kubernetes.io",
		"k8s.io/rack": "k8s.io", "a.k8s.io/rack": "k8s.io", CSIDomain + "/k8s-zone": CSIDomain, "a." + CSIDomain + "/x": CSIDomain,
		"example.com/kubernetes.io": "", "notkubernetes.io/rack": "", "kubernetes.io": "", "rack": "", "": "",
	} {
		if got := ReservedDomain(key); got != want {
			t.Errorf("%q is in %q, want %q", key, got, want)
		}
	}
}
