package nodes

import (
	"testing"

	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// TestHome: a machine has left its home if it is no longer below what decided a label that is wrong
// now; what happens below that, and a retag, is not a move.
func TestHome(t *testing.T) {
	object := func(kind, id string) *topology.Object {
		return &topology.Object{Ref: topology.Ref{VCenter: "east", Type: kind, ID: id}}
	}
	cluster, other, dc := object("ClusterComputeResource", "c-1"), object("ClusterComputeResource", "c-2"), object("Datacenter", "dc-1")
	at := func(vcenter, host string, above ...*topology.Object) *placement.Place {
		objects := append([]*topology.Object{object("HostSystem", host)}, above...)
		return &placement.Place{Machine: &inventory.Machine{
			Ref:   topology.Ref{VCenter: vcenter},
			Paths: []topology.Path{{Kind: topology.ComputePath, Objects: objects}},
		}}
	}
	drift := func(label string) []plan.Timed { return []plan.Timed{{Difference: plan.Difference{Label: label}}} }
	placed := topology.Placement{Decisions: []topology.Decision{
		{Label: topology.LabelRegion, Value: "r", By: dc}, {Label: topology.LabelZone, Value: "a", By: cluster},
	}}
	var h home
	if h.left(at("east", "h-1", other, dc), drift(topology.LabelZone)) {
		t.Error("moved, though its home is not known")
	}
	h.note(placed)
	for name, c := range map[string]struct {
		at    *placement.Place
		label string
		want  bool
	}{
		"retagged":                       {at("east", "h-1", cluster, dc), topology.LabelZone, false},
		"retagged, then moved within it": {at("east", "h-2", cluster, dc), topology.LabelZone, false},
		"moved":                          {at("east", "h-3", other, dc), topology.LabelZone, true},
		"moved below what is retagged":   {at("east", "h-3", other, dc), topology.LabelRegion, false},
		"the same IDs in another one":    {at("west", "h-1", cluster, dc), topology.LabelZone, true},
		"another label":                  {at("east", "h-3", other, dc), "example.com/rack", false},
	} {
		if got := h.left(c.at, drift(c.label)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	before := h
	if h.note(placed); len(h) != 2 || h[topology.LabelZone] != before[topology.LabelZone] {
		t.Errorf("%v", h)
	}
	if n := testing.AllocsPerRun(10, func() { h.note(placed) }); n > 0 {
		t.Errorf("%v allocations where nothing has changed", n)
	}
}
