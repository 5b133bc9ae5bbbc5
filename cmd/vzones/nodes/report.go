package nodes

import (
	"cmp"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
)

// A Report is what -o json and -o yaml print. docs/reference/vzones.md has its fields.
type Report struct {
	// VCenters are in configured order.
	VCenters []VCenter `json:"vcenters"`
	// Nodes are in the order of their names.
	Nodes []Node `json:"nodes"`
}

// A VCenter is one that was read, or was to be.
type VCenter struct {
	Name string `json:"name"`
	// Error is why it could not be read, empty if it was.
	Error string `json:"error,omitempty"`
	// TagsError is why its tags could not be read, though its machines were: then nothing is known of
	// what they give. Empty if they were.
	TagsError string `json:"tagsError,omitempty"`
}

// A Node is where one Node is. A field is absent where nothing is known of it.
type Node struct {
	Name string `json:"name"`
	// Status is Placed, Foreign, NotInitialized, or the reason of the Event about it.
	Status string `json:"status"`
	// Problem says what is wrong, or what the Node waits for, and what to do.
	Problem string `json:"problem,omitempty"`
	// Initialized reports whether the framework's taint is off.
	Initialized bool   `json:"initialized"`
	ProviderID  string `json:"providerID,omitempty"`
	// VCenter is the name in the configuration, by the Node's annotation while its place is not known;
	// Datacenter, Cluster and Host are inventory paths.
	VCenter    string `json:"vcenter,omitempty"`
	Datacenter string `json:"datacenter,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	Host       string `json:"host,omitempty"`
	// Machine is the managed object ID, Path the inventory path.
	Machine    string `json:"machine,omitempty"`
	Path       string `json:"path,omitempty"`
	PowerState string `json:"powerState,omitempty"`
	// Region, Zone and Labels are those of the place; Labels has all of them by their keys.
	Region string            `json:"region,omitempty"`
	Zone   string            `json:"zone,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Differences are how the labels of the Node differ from that.
	Differences []Difference `json:"differences,omitempty"`
	// Addresses are those that the Node gets or has.
	Addresses    []v1.NodeAddress `json:"addresses,omitempty"`
	InstanceType string           `json:"instanceType,omitempty"`
	// Taints are those of the Node, as KEY=VALUE:EFFECT.
	Taints []string `json:"taints,omitempty"`
}

// A Difference is a label that is missing, or not that of the place.
type Difference struct {
	Label string `json:"label"`
	// Have is the value on the Node, and Want that of the place; absent for no label.
	Have string `json:"have,omitempty"`
	Want string `json:"want,omitempty"`
	// Source is what gives Want.
	Source string `json:"source,omitempty"`
	// Missing reports whether the label or its beta twin is not there.
	Missing bool `json:"missing"`
	// Text says all that in words.
	Text string `json:"text"`
}

// The statuses that are no reasons of Events about problems.
const (
	placed         = "Placed"
	foreign        = "Foreign"
	notInitialized = "NotInitialized"
)

// IsRight reports whether nothing is wrong with a Node.
func (n *Node) IsRight() bool { return slices.Contains([]string{placed, foreign}, n.Status) }

// reportOf returns what is printed of vCenters.
func reportOf(w *world.World) []VCenter {
	all := make([]VCenter, len(w.States))
	for i := range w.States {
		s := &w.States[i]
		all[i].Name = s.VCenter
		if s.Err != nil {
			all[i].Error = quote.Line(s.Err.Error())
		} else if err := w.TagsErr(s); err != nil {
			all[i].TagsError = world.Plain(s.VCenter, err)
		}
	}
	return all
}

// nodeOf returns what is printed of a Node.
func nodeOf(l *world.Look) Node {
	n := Node{
		Name: l.Node.Name, Initialized: !l.Waits, ProviderID: l.Node.Spec.ProviderID,
		VCenter: l.VCenter(), InstanceType: l.Place.InstanceType,
		Region: l.Place.Placement.Value(topology.LabelRegion), Zone: l.Place.Placement.Value(topology.LabelZone),
	}
	for i := range l.Node.Spec.Taints {
		n.Taints = append(n.Taints, l.Node.Spec.Taints[i].ToString())
	}
	for _, d := range l.Place.Placement.Decisions {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[d.Label] = d.Value
	}
	if m := l.Place.Machine; m != nil {
		n.Machine = m.Ref.ID
		n.Path = m.InventoryPath
		n.PowerState = string(m.Power)
		n.Datacenter = m.Datacenter
		if n.ProviderID == "" && !m.UUID.IsZero() {
			n.ProviderID = nodeinfo.ProviderID(m.UUID)
		}
	}
	if o := l.Above("HostSystem"); o != nil {
		n.Host = o.Path
	}
	if o := l.Above("ClusterComputeResource", "ComputeResource"); o != nil {
		n.Cluster = o.Path
	}
	if n.Addresses = l.Place.Addresses.Addresses; !l.Waits && !l.Place.AddressesChange {
		n.Addresses = l.Node.Status.Addresses
	}
	for i := range l.Differences {
		d := &l.Differences[i]
		n.Differences = append(n.Differences, Difference{d.Label, d.Have, d.Want, d.Source, d.Missing, world.DifferenceText(d)})
	}
	n.Status, n.Problem = statusOf(l)
	return n
}

// statusOf returns the status of a Node, and what is wrong.
func statusOf(l *world.Look) (status, problem string) {
	switch {
	case l.Foreign && l.Err != nil:
		return foreign, "no vCenter has its machine, and it waits for nothing"
	case l.Foreign:
		return foreign, ""
	case l.Err != nil:
		return l.Reason(), l.Text()
	case l.Waits:
		return notInitialized, "nothing is missing, and the daemon has not initialized it: look whether the daemon runs, and at its log"
	case len(l.Differences) == 0:
		return placed, ""
	}
	texts := make([]string, len(l.Differences))
	var reasons []string
	for i := range l.Differences {
		texts[i] = world.DifferenceText(&l.Differences[i])
		reasons = append(reasons, world.DifferenceReason(&l.Differences[i]))
	}
	worst := slices.IndexFunc(world.DifferenceReasons(), func(reason string) bool { return slices.Contains(reasons, reason) })
	return world.DifferenceReasons()[worst], strings.Join(texts, "; ")
}

// listOf returns Nodes as a table, with a column for each further level of the configuration.
func listOf(nodes []Node, labels []string) *cli.List {
	levels := slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return label == topology.LabelRegion || label == topology.LabelZone })
	list := &cli.List{Columns: []string{"NODE", "STATUS", "VCENTER", "DATACENTER", "CLUSTER", "HOST", "REGION", "ZONE"}}
	for _, label := range levels {
		column := strings.ToUpper(path.Base(label))
		if slices.Contains(list.Columns, column) {
			column = label
		}
		list.Columns = append(list.Columns, column)
	}
	list.Columns = append(list.Columns, "ADDRESSES")
	list.WideFrom = len(list.Columns)
	list.Columns = append(list.Columns, "INSTANCE-TYPE", "MACHINE", "POWER", "TAINTS", "PROBLEM")
	base := func(object string) string { return strings.TrimPrefix(path.Base("/"+object), "/") }
	for i := range nodes {
		n := &nodes[i]
		names := []string{n.Name, n.Status, n.VCenter, base(n.Datacenter), base(n.Cluster), base(n.Host), n.Region, n.Zone}
		for _, label := range levels {
			names = append(names, n.Labels[label])
		}
		cells := make([]string, len(names))
		for i, name := range names {
			cells[i] = shown(name)
		}
		cells = append(cells, shown(addresses(n.Addresses)...), shown(n.InstanceType), shown(n.Machine), shown(n.PowerState), shown(n.Taints...))
		list.Rows = append(list.Rows, cli.Row{Name: n.Name, Cells: append(cells, cmp.Or(n.Problem, world.Nothing)), Color: colorOf(n)})
	}
	return list
}

func colorOf(n *Node) cli.Color {
	switch {
	case n.Status == foreign:
		return cli.Faint
	case n.IsRight():
		return ""
	case n.Status == notInitialized || slices.Contains(world.DifferenceReasons()[1:], n.Status):
		return cli.Yellow
	}
	return cli.Red
}

// shown returns values that others chose as a cell of a table has them.
func shown(values ...string) string {
	var all []string
	for _, v := range values {
		if v != "" {
			all = append(all, quote.Plain(v))
		}
	}
	return cmp.Or(strings.Join(all, ","), world.Nothing)
}

// addresses returns the IP addresses, each once.
func addresses(all []v1.NodeAddress) (texts []string) {
	for _, a := range all {
		isIP := a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP
		if isIP && !slices.Contains(texts, a.Address) {
			texts = append(texts, a.Address)
		}
	}
	return texts
}
