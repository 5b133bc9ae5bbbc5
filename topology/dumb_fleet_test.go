package topology

import (
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
)

// fleet is a random machine and policy. Few categories and values, and short
// paths that share their ends, make every outcome common.
type fleet struct {
	Policy Policy
	Paths  []Path
}

func (fleet) Generate(r *rand.Rand, _ int) reflect.Value {
	names := []string{"a", "b", "a", "b", "a", "b", "no value"}
	objects := func(n int, of PathKind, types ...string) (all []*Object) {
		for i := range n {
			what := types[r.Intn(len(types))]
			o := &Object{Ref: Ref{VCenter: "east", Type: what, ID: fmt.Sprint(of, i)}, Path: fmt.Sprint("/", of, i)}
			for range r.Intn(3) {
				o.Tags = append(o.Tags, Tag{[]string{"region", "zone", "rack"}[r.Intn(3)], names[r.Intn(len(names))]})
			}
			switch r.Intn(25) {
			case 0:
				o.Tags, o.TagsErr = nil, errors.New("refused")
			case 1, 2, 3:
				o.Tags, o.TagsErr = nil, fmt.Errorf("reading: %w", ErrNotPermitted)
			}
			all = append(all, o)
		}
		return all
	}
	above := objects(r.Intn(4), "", "Folder", "Datacenter")
	var f fleet
	for _, kind := range DefaultPaths() {
		p := Path{Kind: kind, Objects: slices.Concat(objects(r.Intn(3), kind, "HostSystem", "Folder"), above)}
		if r.Intn(12) == 0 {
			p.Broken = errors.New("no privilege")
		}
		if r.Intn(12) > 0 {
			f.Paths = append(f.Paths, p)
		}
	}
	f.Policy = Policy{
		Rules: Rules{
			{Label: LabelRegion, Category: "region", Required: r.Intn(3) > 0},
			{Label: LabelZone, Category: "zone", Required: r.Intn(3) > 0},
		}[:1+r.Intn(2)],
		Levels:     Rules{{Label: "rack", Category: "rack", Required: r.Intn(6) == 0}},
		Precedence: []Precedence{"", PrecedenceCSI, PrecedenceNearest}[r.Intn(3)],
	}
	if r.Intn(4) == 0 {
		f.Policy.Invisible = [][]string{{"region"}, {"zone"}, {"rack"}, {"region", "zone"}, {"other"}}[r.Intn(5)]
	}
	if r.Intn(2) == 0 {
		kinds := DefaultPaths()
		r.Shuffle(3, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		f.Policy.Paths = kinds[:1+r.Intn(3)]
	}
	return reflect.ValueOf(f)
}
