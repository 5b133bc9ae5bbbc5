package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"vzones/test/bench/figures"
	"vzones/test/fleet"
)

// A measurement fills in what was measured. The fleet runs, and is its own.
type measurement func(ctx context.Context, b *bench, c benchCase, result *figures.Case) error

// A benchCase is one thing to measure.
type benchCase struct {
	name, about string
	fleet       layout
	more        string // in the configuration, behind region and zone
	measure     measurement
	// runs is how often it is done; the median counts.
	runs int
	// oneSick says that the Nodes of the last vCenter do not count.
	oneSick bool
	// joinAfter is how long a program runs before its Nodes come, from when on it is
	// measured; 0 for Nodes that are there when it starts.
	joinAfter time.Duration
	// long cases are left out of a short run.
	long bool
	// deadline bounds the case, its fleet included.
	deadline time.Duration
	bounds   []figures.Bound
}

// logLines is how many lines the log of a fleet that is well may have in a minute, at the
// manifest's verbosity, which is the harness's too.
const logLines = 30

// repeats is how often a case is done that takes seconds only.
const repeats = 3

// cases are all cases in the order of the table. The bounds are those of issue
// 3, and of the design where it has more ("What it must cost").
func cases() []benchCase {
	return slices.Concat(startups(), faultCases(), shared(), hostiles())
}

// faultCases are the cases of vCenters that fail, change or are large.
func faultCases() []benchCase {
	return []benchCase{
		{
			name: "hung", about: "the Nodes of the others while one of three vCenters hangs",
			fleet: layout{vcenters: 3, nodes: 300}, measure: startup((*fleet.VCenter).Hang), oneSick: true,
			runs: repeats, deadline: 3 * time.Minute,
			// It may have machines with their UUIDs, so they wait for it once.
			bounds: []figures.Bound{{Of: figures.LaterThanHealthy, Max: 2.5}},
		},
		{
			name: "hung-join", about: "Nodes of the others join while one of three vCenters has hung from the start",
			fleet: layout{vcenters: 3, nodes: 300}, measure: startup((*fleet.VCenter).Hang), oneSick: true, joinAfter: 5 * time.Second,
			runs: repeats, deadline: 3 * time.Minute,
			bounds: []figures.Bound{{Of: figures.TimesHealthy, Max: 1.1}},
		},
		{
			name: "refusing", about: "the Nodes of the others while one of three vCenters refuses connections",
			fleet: layout{vcenters: 3, nodes: 300}, measure: startup((*fleet.VCenter).Refuse), oneSick: true,
			runs: repeats, deadline: 3 * time.Minute,
			bounds: []figures.Bound{{Of: figures.TimesHealthy, Max: 1.1}},
		},
		{
			name: "steady", about: "nothing changes; the status of each Node is asked for every 30 s",
			fleet: layout{vcenters: 3, nodes: 60}, measure: steady,
			deadline: 8 * time.Minute,
			bounds:   []figures.Bound{{Of: figures.RequestsPerMinute, Max: 12}, {Of: figures.LogLinesPerMinute, Max: logLines}},
		},
		{
			name: "vmotion", about: "a machine moves from a host without a zone to one with a zone",
			fleet: layout{vcenters: 3, nodes: 60, bare: 2}, measure: changes("vMotion", migrate),
			deadline: 2 * time.Minute,
			bounds:   []figures.Bound{{Of: figures.Seconds, Max: 2}},
		},
		{
			name: "retag", about: "a cluster gets the tag of its zone; a tag refresh takes place every 30 s",
			fleet: layout{vcenters: 3, nodes: 60, bare: 1}, measure: changes("the tag", tag),
			long: true, deadline: 3 * time.Minute,
			bounds: []figures.Bound{{Of: figures.Seconds, Max: 32}},
		},
		{
			name: "nodes-5000", about: "5,000 Nodes on 10 vCenters with 20,000 further VMs",
			fleet: layout{vcenters: 10, nodes: 5000, others: 20000}, measure: startup(nil),
			runs: 1, deadline: 5 * time.Minute,
			bounds: []figures.Bound{{Of: figures.TimesFloor, Max: 1.3}, {Of: figures.TimesFloorCPU, Max: 1.5}, {Of: figures.RequestsPerVCenter, Max: 60}},
		},
		{
			name: "levels-5000", about: "nothing changes; 5,000 Nodes with three further levels",
			fleet: layout{vcenters: 10, nodes: 5000, racks: true}, more: levels, measure: quiet,
			deadline: 11 * time.Minute,
			bounds:   []figures.Bound{{Of: figures.APIWrites, Max: 0}, {Of: figures.OtherRequests, Max: 0}, {Of: figures.LogLinesPerMinute, Max: logLines}},
		},
	}
}

// warmUp is done before all cases, and its figures are forgotten.
func warmUp() benchCase {
	return benchCase{name: "warm-up", fleet: layout{vcenters: 1, nodes: 60}, measure: startup(nil), runs: 1}
}

// startups are the cases of healthy vCenters that take seconds.
func startups() []benchCase {
	at := func(nodes, vcenters int, bounds ...figures.Bound) benchCase {
		name := fmt.Sprintf("nodes-%d", nodes)
		if vcenters != 3 {
			name += fmt.Sprintf("-vcenters-%d", vcenters)
		}
		return benchCase{
			name: name, about: fmt.Sprintf("%d Nodes on %d vCenters", nodes, vcenters),
			fleet: layout{vcenters: vcenters, nodes: nodes}, measure: startup(nil),
			runs: repeats, deadline: 3 * time.Minute, bounds: bounds,
		}
	}
	return []benchCase{
		at(60, 3),
		at(300, 3, figures.Bound{Of: figures.TotalRequests, Max: 90}, figures.Bound{Of: figures.TimesFloor, Max: 1.1}, figures.Bound{Of: figures.TimesFloorCPU, Max: 1.3}),
		at(1000, 3),
		// The design's figures are for eight vCenters: 240 requests, 4 s.
		at(1000, 10, figures.Bound{Of: figures.RequestsPerVCenter, Max: 30}, figures.Bound{Of: figures.Seconds, Max: 4}),
		at(3000, 8, figures.Bound{Of: figures.TimesFloor, Max: 1.1}, figures.Bound{Of: figures.TimesFloorCPU, Max: 1.3}),
	}
}

// choose returns the cases of a comma-separated list of names, in the order of
// the table. Without a list it is all of them, or all that are not long. A name
// that ends in * is a prefix.
func choose(all []benchCase, list string, short bool) ([]benchCase, error) {
	if list == "" {
		return slices.DeleteFunc(all, func(c benchCase) bool { return short && c.long }), nil
	}
	chosen := make([]bool, len(all))
	for name := range strings.SplitSeq(list, ",") {
		found := false
		for i, c := range all {
			prefix, ok := strings.CutSuffix(name, "*")
			if c.name == name || ok && strings.HasPrefix(c.name, prefix) {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no case %q; -list shows all", name)
		}
	}
	var some []benchCase
	for i, c := range all {
		if chosen[i] {
			some = append(some, c)
		}
	}
	return some, nil
}
