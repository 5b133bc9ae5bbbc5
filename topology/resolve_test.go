package topology

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

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
		t.Errorf("Resolve without rules = %+v, %v, want no decisions", p, err)
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

// TestErrorf checks that an error has its kind and the kinds of the errors it wraps, but only the
// formatted text.
func TestErrorf(t *testing.T) {
	cause := errors.New("refused")
	err := fmt.Errorf("node-1: %w", Errorf(Kinds{ErrUnknown, ErrNoCategory}, "tags of %s: %w", "host h", cause))
	if want := "node-1: tags of host h: refused"; err.Error() != want {
		t.Errorf("%q, not %q", err, want)
	}
	for _, is := range []error{ErrUnknown, ErrNoCategory, cause} {
		if !errors.Is(err, is) {
			t.Errorf("it is not %q", is)
		}
	}
	for _, not := range []error{ErrAbsent, ErrMissing, ErrAmbiguous, ErrInvalid, ErrNotPermitted} {
		if errors.Is(err, not) {
			t.Errorf("it is %q", not)
		}
	}
	if got, want := (Kinds{ErrUnknown, ErrMissing}).Error(), "unknown, missing"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestCSIPolicy checks that a placement without a conflict about tag order is the driver's result under
// any order.
func TestCSIPolicy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	categories := []string{"region", "zone", "rack"}
	compared, missing := 0, 0
	for range 20_000 {
		p := Path{Kind: ComputePath}
		for i := range 4 {
			o := &Object{Name: fmt.Sprint(i), Path: fmt.Sprint("/", i)}
			for range random.IntN(3) {
				tag := Tag{Category: categories[random.IntN(3)], Name: string(rune('a' + random.IntN(2)))}
				if !slices.Contains(o.Tags, tag) {
					o.Tags = append(o.Tags, tag)
				}
			}
			p.Objects = append(p.Objects, o)
		}
		answers, complete, _ := driverAnswers(categories, p.Objects)
		placed, err := Resolve(CSIPolicy(categories), []Path{p})
		if errors.Is(err, ErrMissing) == complete {
			t.Fatalf("complete %v, but %v", complete, err)
		}
		if err != nil {
			missing++
			continue
		}
		for _, d := range placed.Decisions {
			i := slices.Index(categories, d.Category)
			certain := !slices.ContainsFunc(placed.Conflicts, func(c Conflict) bool {
				return c.Kind == ConflictTagOrder && slices.Contains(c.Labels, d.Label)
			})
			for _, answer := range answers {
				if certain && answer[i] != d.Value {
					t.Fatalf("%s is %q, and the driver may say %q: %v", d.Label, d.Value, answer[i], p.Objects)
				}
			}
			compared++
		}
	}
	if compared < 1000 || missing < 1000 {
		t.Errorf("%d compared, %d missing", compared, missing)
	}
}
