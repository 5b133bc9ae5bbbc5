package nodes

import (
	"cmp"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/topology"
	"vzones/topology/quote"
)

// listOf returns Nodes as a table, with a column for each further level of the configuration.
func listOf(nodes []Node, labels []string) *cli.List {
	levels := slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return label == topology.LabelRegion || label == topology.LabelZone })
	list := &cli.List{Columns: []string{"NODE", "STATUS", "VCENTER", "DATACENTER", "CLUSTER", "HOST", "REGION", "ZONE"}}
	for _, label := range levels {
		list.Columns = append(list.Columns, strings.ToUpper(path.Base(label)))
	}
	list.Columns = append(list.Columns, "ADDRESSES")
	list.WideFrom = len(list.Columns)
	list.Columns = append(list.Columns, "INSTANCE-TYPE", "MACHINE", "POWER", "TAINTS", "PROBLEM")
	for i := range nodes {
		n := &nodes[i]
		names := []string{n.Name, n.Status, n.VCenter, path.Base("/" + n.Datacenter), path.Base("/" + n.Cluster), path.Base("/" + n.Host), n.Region, n.Zone}
		for _, label := range levels {
			names = append(names, n.Labels[label])
		}
		var cells []string
		for _, name := range names {
			cells = append(cells, shown(strings.TrimPrefix(name, "/")))
		}
		cells = append(cells, shown(addressesOf(n.Addresses)...), shown(n.InstanceType), shown(n.Machine), shown(n.PowerState), shown(n.Taints...))
		list.Rows = append(list.Rows, cli.Row{Name: n.Name, Cells: append(cells, cmp.Or(n.Problem, nothing)), Color: colorOf(n)})
	}
	return list
}

// nothing is what a cell without a value has.
const nothing = "-"

// shown returns values that others chose as a cell has them.
func shown(values ...string) string {
	var all []string
	for _, v := range values {
		if v != "" {
			all = append(all, quote.Plain(v))
		}
	}
	return cmp.Or(strings.Join(all, ","), nothing)
}

// addressesOf returns the IP addresses, each once.
func addressesOf(all []v1.NodeAddress) (texts []string) {
	for _, a := range all {
		isIP := a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP
		if isIP && !slices.Contains(texts, a.Address) {
			texts = append(texts, a.Address)
		}
	}
	return texts
}

func colorOf(n *Node) cli.Color {
	switch {
	case n.Status == foreign || n.Status == deleted:
		return cli.Faint
	case n.IsRight():
		return ""
	case n.Status == notInitialized || slices.Contains(world.DifferenceReasons()[1:], n.Status):
		return cli.Yellow
	}
	return cli.Red
}
