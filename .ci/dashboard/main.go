// Command dashboard writes the Grafana dashboard of vzones to the file that its argument
// names. It is a module of its own, so that nothing else depends on Grafana's SDK.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("the file to write is the only argument")
	}
	d, err := build()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], append(text, '\n'), 0o644)
}

// source is the data source that the variable of that name has chosen.
var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

func build() (dashboard.Dashboard, error) {
	b := dashboard.NewDashboardBuilder("vzones").
		Uid("vzones").
		Description("State of the cloud controller manager for vSphere: vCenters, Nodes, topology, requests, and the daemon itself.").
		Tags([]string{"kubernetes", "vsphere", "vzones"}).
		Timezone("browser").Refresh("1m").Time("now-3h", "now").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(variable("cluster", "Cluster", "label_values(vsphere_ccm_leading, cluster)")).
		WithVariable(variable("job", "Job", `label_values(vsphere_ccm_leading{cluster=~"$cluster"}, job)`)).
		WithVariable(variable("vcenter", "vCenter", `label_values(vsphere_ccm_vcenter_up{cluster=~"$cluster", job=~"$job"}, vcenter)`))
	for _, row := range rows() {
		b = b.WithRow(dashboard.NewRowBuilder(row.title))
		for _, p := range row.panels {
			b = b.WithPanel(p.builder())
		}
	}
	return b.Build()
}

// variable is one of which several or all values may be chosen. All of them includes that
// there is none: a single cluster often has no label.
func variable(name, label, query string) *dashboard.QueryVariableBuilder {
	all := dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")}
	return dashboard.NewQueryVariableBuilder(name).Label(label).
		Datasource(source).Query(dashboard.StringOrMap{String: cog.ToPtr(query)}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").
		Current(dashboard.VariableOption{Text: dashboard.StringOrArrayOfString{String: cog.ToPtr("All")}, Value: all})
}
