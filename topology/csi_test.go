package topology

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCSIPolicy: what the policy of the driver's categories decides, and that nothing marks as
// depending on the order of tags, is what the driver itself would find in any order.
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
