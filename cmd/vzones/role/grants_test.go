package role

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"vzones/vcenter"
)

func TestGrants(t *testing.T) {
	for name, c := range map[string]struct {
		needs       vcenter.Requirements
		datacenters []string
		want        []string
	}{
		"all, no tags":      {want: []string{"folder / true"}},
		"all":               {needs: vcenter.Requirements{Tags: true}, want: []string{"folder / true", "global  true"}},
		"some, no tags":     {datacenters: []string{"/a/dc", "dc2"}, want: []string{"datacenter /a/dc true", "datacenter dc2 true"}},
		"a path in folders": {needs: vcenter.Requirements{Tags: true}, datacenters: []string{"/a/b/dc", "a/dc"}, want: []string{"folder / false", "folder /a false", "folder /a/b false", "datacenter /a/b/dc true", "datacenter a/dc true", "global  true"}},
		"patterns":          {needs: vcenter.Requirements{Tags: true}, datacenters: []string{"/a/...", "dc*"}, want: []string{"folder / false", "datacenter /a/... true", "datacenter dc* true", "global  true"}},
	} {
		var got []string
		for _, g := range grantsOf(c.needs, c.datacenters) {
			got = append(got, fmt.Sprint(g.On, " ", g.Object, " ", g.Propagate))
			if len(g.For) == 0 || slices.Contains(g.For, "") {
				t.Errorf("%s: %+v is for nothing", name, g)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
