package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// A panel is a number or a graph, and what it shows.
type panel struct {
	title, about, unit string
	single             bool
	queries            []query
	stacked            bool
	// steps says that it has values from 0 to 1, which change in steps.
	steps bool
	// low and high have numbers turn red: those below or from there on.
	low, high *float64
}

type query struct{ expr, legend string }

func number(title, about, expr string) panel {
	return panel{title: title, about: about, unit: "short", single: true, queries: []query{{expr, ""}}}
}

func graph(title, about, unit, expr, legend string) panel {
	return panel{title: title, about: about, unit: unit, queries: []query{{expr, legend}}}
}

// states is a graph of what is 1 where all is well.
func states(title, about, expr, legend string) panel {
	p := graph(title, about, "short", expr, legend)
	p.steps = true
	return p
}

// faults is a graph of what is 0 where all is well.
func faults(title, about, expr, legend string) panel { return states(title, about, expr, legend) }

func (p panel) and(expr, legend string) panel {
	p.queries = append(p.queries, query{expr, legend})
	return p
}

func (p panel) stack() panel { p.stacked = true; return p }

func (p panel) above(limit float64) panel { p.high = &limit; return p }

func (p panel) below(limit float64) panel { p.low = &limit; return p }

func (p panel) builder() cog.Builder[dashboard.Panel] {
	if p.single {
		return p.stat()
	}
	b := timeseries.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(source).
		Height(8).Span(8).Min(0).FillOpacity(10).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if p.stacked {
		b = b.Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	if p.steps {
		b = b.Max(1).Decimals(0).LineInterpolation(common.LineInterpolationStepAfter)
	}
	for _, q := range p.queries {
		b = b.WithTarget(prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).Range())
	}
	return b
}

func (p panel) stat() cog.Builder[dashboard.Panel] {
	steps := []dashboard.Threshold{{Color: "green"}}
	switch {
	case p.high != nil:
		steps = append(steps, dashboard.Threshold{Color: "red", Value: p.high})
	case p.low != nil:
		steps = []dashboard.Threshold{{Color: "red"}, {Color: "green", Value: p.low}}
	}
	b := stat.NewPanelBuilder().Title(p.title).Description(p.about).Unit(p.unit).Datasource(source).
		Height(4).Span(3).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps))
	for _, q := range p.queries {
		b = b.WithTarget(prometheus.NewDataqueryBuilder().Expr(q.expr).Instant())
	}
	return b
}
