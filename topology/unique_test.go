package topology

import (
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/quick"

	"github.com/google/go-cmp/cmp"
)

// vcenters is a random fleet of several vCenters, and a policy. The few tag names are the same
// everywhere, so that zones and racks collide.
type vcenters struct {
	Policy Policy
	VMs    [][]Path
}

const host = "example.com/host"

func (vcenters) Generate(r *rand.Rand, _ int) reflect.Value {
	f := vcenters{Policy: randomPolicy(r)}
	names := map[string][]string{"region": {"eu", "us"}, "zone": {"a", "b", "c", "d"}, "rack": {"r1", "r2", "r3"}}
	object := func(vc, kind, path, name string, chances map[string]int) *Object {
		o := &Object{Ref: Ref{VCenter: vc, Type: kind, ID: path}, Path: path, Name: name}
		for _, category := range []string{"region", "zone", "rack"} {
			if r.Intn(100) < chances[category] {
				o.Tags = append(o.Tags, Tag{category, names[category][r.Intn(len(names[category]))]})
			}
		}
		switch r.Intn(120) {
		case 0:
			o.Tags, o.TagsErr = nil, ErrNotPermitted
		case 1:
			o.Tags, o.TagsErr = nil, fmt.Errorf("refused")
		}
		return o
	}
	for v := range 1 + r.Intn(3) {
		vc := fmt.Sprint("vc", v)
		root := object(vc, typeFolder, "/", "Datacenters", map[string]int{"region": 20})
		for d := range 1 + r.Intn(2) {
			path := fmt.Sprint("/dc", d)
			dc := object(vc, typeDatacenter, path, fmt.Sprint("dc", d), map[string]int{"region": 70, "zone": 20})
			for c := range 1 + r.Intn(2) {
				path := fmt.Sprint(path, "/host/c", c)
				cluster := object(vc, typeCluster, path, fmt.Sprint("c", c), map[string]int{"region": 10, "zone": 70, "rack": 20})
				pool := object(vc, typePool, path+"/Resources", "Resources", nil)
				for h := range 1 + r.Intn(2) {
					name := fmt.Sprint("h", r.Intn(3)) // names of hosts repeat, as in a fleet of labs
					on := object(vc, typeHost, fmt.Sprint(path, "/", h), name, map[string]int{"zone": 15, "rack": 60})
					compute := Path{Kind: ComputePath, Objects: []*Object{on, cluster, dc, root}}
					if r.Intn(25) == 0 {
						compute = Path{Kind: ComputePath, Broken: errNoPath}
					}
					vm := object(vc, typeVM, fmt.Sprint(path, "/vm", h), "vm", map[string]int{"zone": 3})
					f.VMs = append(f.VMs, []Path{
						compute, {Kind: PoolPath, Objects: []*Object{pool, cluster, dc, root}}, {Kind: FolderPath, Objects: []*Object{vm, dc, root}},
					})
				}
			}
		}
	}
	return reflect.ValueOf(f)
}

func randomPolicy(r *rand.Rand) Policy {
	own, sep := Part{Own: true}, Part{Text: "-"}
	templates := map[string][]Template{
		LabelRegion: {nil, nil, nil, {own, sep, {Inventory: InventoryVCenter}}},
		LabelZone:   {nil, nil, {{Label: LabelRegion}, sep, own}, {{Inventory: InventoryDatacenter}, sep, own}, {own, sep, {Category: "rack"}}, {{Category: "region"}, sep, own}},
		"rack":      {nil, nil, {{Label: LabelZone}, sep, own}},
		host:        {nil, {{Label: "rack"}, sep, own}, {{Category: "zone"}, {Text: "."}, own}},
	}
	rule := func(label, category string, inventory Inventory, required bool) Rule {
		choices := templates[label]
		return Rule{Label: label, Category: category, Inventory: inventory, Required: required, Value: choices[r.Intn(len(choices))]}
	}
	p := Policy{
		Rules:      Rules{rule(LabelRegion, "region", "", r.Intn(4) > 0), rule(LabelZone, "zone", "", r.Intn(4) > 0)},
		Levels:     Rules{rule("rack", "rack", "", r.Intn(4) == 0), rule(host, "", InventoryHost, false)},
		Precedence: []Precedence{PrecedenceCSI, PrecedenceNearest}[r.Intn(2)],
	}
	for i := range p.Levels {
		p.Levels[i].Nested = r.Intn(4) > 0
	}
	if r.Intn(10) == 0 {
		p.Invisible = []string{[]string{"region", "zone", "rack"}[r.Intn(3)]}
	}
	return p
}

// node is a placed VM for the oracle: its labels, its undecided labels and its vCenter.
type node struct {
	vcenter string
	labels  map[string]string
	unknown map[string]bool
}

func (f vcenters) places() (placements []Placement, nodes []node) {
	for _, paths := range f.VMs {
		p, err := Resolve(f.Policy, paths)
		if err != nil {
			continue
		}
		n := node{paths[1].Objects[0].Ref.VCenter, map[string]string{}, map[string]bool{}}
		for _, d := range p.Decisions {
			n.labels[d.Label] = d.Value
		}
		for _, u := range p.Undecided {
			n.unknown[u.Label] = true
		}
		placements, nodes = append(placements, p), append(nodes, n)
	}
	return placements, nodes
}

// layouts returns the number of random layouts and the seed, see make layouts.
func layouts(t *testing.T) *quick.Config {
	count, seed := 3000, int64(11)
	for name, set := range map[string]func(int64){
		"VZONES_LAYOUTS":     func(n int64) { count = int(n) },
		"VZONES_LAYOUT_SEED": func(n int64) { seed = n },
	} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatalf("the variable %s is not a number: %v", name, err)
		}
		set(n)
	}
	return &quick.Config{MaxCount: count, Rand: rand.New(rand.NewSource(seed))}
}

// TestZonesAreUniqueOrFound checks that every zone in two regions or vCenters, and every level that
// does not nest, gives a conflict, and nothing else does. The oracle compares all pairs of VMs.
func TestZonesAreUniqueOrFound(t *testing.T) {
	seen := map[string]int{}
	property := func(f vcenters) bool {
		placements, nodes := f.places()
		unnested, spanning := f.Policy.Unnested(slices.Values(placements)), Spanning(slices.Values(placements))
		want := map[string]bool{}
		for i, a := range nodes {
			for _, b := range nodes[i+1:] {
				for _, what := range collisions(f.Policy, a, b) {
					want[what] = true
				}
			}
		}
		got := map[string]bool{}
		for v, c := range unnested {
			got[fmt.Sprint(c.Kind, " ", v.Label, "=", v.Value)] = true
			seen[string(c.Kind)]++
		}
		for pair, c := range spanning {
			got[fmt.Sprint(c.Kind, " ", pair.Region, "/", pair.Zone)] = true
			seen[string(c.Kind)]++
		}
		if len(want) == 0 && len(nodes) > 2 {
			seen["sound"]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Logf("the conflicts of %v differ from those wanted (-):\n%s", nodes, diff)
			return false
		}
		return true
	}
	if err := quick.Check(property, layouts(t)); err != nil {
		t.Error(err)
	}
	t.Log(seen)
	for _, what := range []string{string(ConflictTwoRegions), string(ConflictNotNested), string(ConflictSpans), "sound"} {
		if seen[what] < 50 {
			t.Errorf("%s came %d times only", what, seen[what])
		}
	}
}

// collisions returns the conflicts between two VMs of one fleet.
func collisions(policy Policy, a, b node) []string {
	var wrong []string
	nested := []string{LabelRegion, LabelZone}
	for _, l := range policy.Levels {
		if l.Nested {
			nested = append(nested, l.Label)
		}
	}
	for i, inner := range nested {
		if i == 0 || a.labels[inner] == "" || a.labels[inner] != b.labels[inner] {
			continue
		}
		for _, outer := range nested[:i] {
			if !a.unknown[outer] && !b.unknown[outer] && a.labels[outer] != b.labels[outer] {
				kind := "not_nested "
				if inner == LabelZone {
					kind = "zone_in_two_regions "
				}
				wrong = append(wrong, kind+inner+"="+a.labels[inner])
			}
		}
	}
	zone, region := a.labels[LabelZone], a.labels[LabelRegion]
	if zone != "" && zone == b.labels[LabelZone] && region == b.labels[LabelRegion] && a.vcenter != b.vcenter &&
		!a.unknown[LabelRegion] && !b.unknown[LabelRegion] {
		wrong = append(wrong, "spans_vcenters "+region+"/"+zone)
	}
	return wrong
}

// TestComposedIsItsParts checks that a composed value is the concatenation of its sources. The oracle
// resolves without composed values, with a label for each source.
func TestComposedIsItsParts(t *testing.T) {
	composed := 0
	property := func(f vcenters) bool {
		plain := f.Policy
		plain.Rules, plain.Levels = slices.Clone(plain.Rules), slices.Clone(plain.Levels)
		for i := range plain.Rules {
			plain.Rules[i].Value = nil
		}
		for i := range plain.Levels {
			plain.Levels[i].Value, plain.Levels[i].Required = nil, false
		}
		plain.Levels = append(plain.Levels, Rule{Label: "vcenter", Inventory: InventoryVCenter}, Rule{Label: "datacenter", Inventory: InventoryDatacenter})
		source := map[string]string{"tag:region": LabelRegion, "tag:zone": LabelZone, "tag:rack": "rack", "vcenter": "vcenter", "datacenter": "datacenter"}
		for _, paths := range f.VMs {
			got, err := Resolve(f.Policy, paths)
			if err != nil {
				continue
			}
			parts, _ := Resolve(plain, paths)
			for _, d := range got.Decisions {
				rule := f.Policy.rule(d.Label)
				want := ""
				for _, part := range rule.Value {
					switch {
					case part.Text != "":
						want += part.Text
					case part.Own:
						want += parts.Value(d.Label)
					case part.Label != "":
						want += got.Value(part.Label)
					default:
						want += parts.Value(source[part.String()[1:len(part.String())-1]])
					}
				}
				if rule.Value != nil {
					composed++
				} else {
					want = parts.Value(d.Label)
				}
				if d.Value != want {
					t.Logf("label %s is %q, want %q", d.Label, d.Value, want)
					return false
				}
			}
		}
		return true
	}
	if err := quick.Check(property, layouts(t)); err != nil {
		t.Error(err)
	}
	if composed < 1000 {
		t.Errorf("%d were composed only", composed)
	}
}
