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
	"vzones/provider/placement"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Report is the JSON and YAML output.
type Report struct {
	// VCenters are in the order of the configuration.
	VCenters []VCenter `json:"vcenters"`
	// Nodes are sorted by name.
	Nodes []Node `json:"nodes"`
}

// VCenter is a configured vCenter.
type VCenter struct {
	Name string `json:"name"`
	// Error is the reason that it could not be read, or "".
	Error string `json:"error,omitempty"`
	// TagsError is the reason that its tags could not be read although its VMs were.
	TagsError string `json:"tagsError,omitempty"`
}

// Node describes a Node and its place. Unknown fields are absent.
type Node struct {
	Name string `json:"name"`
	// Status is Placed, Unmanaged, NotInitialized, or the reason of the Event about the Node.
	Status  string `json:"status"`
	Problem string `json:"problem,omitempty"`
	// Initialized reports whether the framework has removed its taint.
	Initialized bool   `json:"initialized"`
	ProviderID  string `json:"providerID,omitempty"`
	// VCenter is the configured name. If the place is unknown, it comes from the Node's annotation.
	// Datacenter, Cluster and Host are inventory paths.
	VCenter    string `json:"vcenter,omitempty"`
	Datacenter string `json:"datacenter,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	Host       string `json:"host,omitempty"`
	// VM is the managed object ID, and Path the inventory path.
	VM         string `json:"vm,omitempty"`
	Path       string `json:"path,omitempty"`
	PowerState string `json:"powerState,omitempty"`
	// Region, Zone and Labels are the values that the Node should have. Labels includes region and zone.
	// Current are the values of the same labels on the Node.
	Region  string            `json:"region,omitempty"`
	Zone    string            `json:"zone,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Current map[string]string `json:"currentLabels,omitempty"`
	// Differences are the labels of the Node that differ from its place.
	Differences []Difference `json:"differences,omitempty"`
	// Addresses are the addresses that the Node has or will get.
	Addresses    []v1.NodeAddress `json:"addresses,omitempty"`
	InstanceType string           `json:"instanceType,omitempty"`
	// Taints are formatted as KEY=VALUE:EFFECT.
	Taints []string `json:"taints,omitempty"`
}

// Difference is a label that is missing or differs from the place.
type Difference struct {
	Label string `json:"label"`
	// Have is the value on the Node, and Want the value of the place; both may be absent.
	Have   string `json:"current,omitempty"`
	Want   string `json:"expected,omitempty"`
	Source string `json:"source,omitempty"`
	// Missing reports whether the label or its beta twin is missing.
	Missing bool   `json:"missing"`
	Text    string `json:"text"`
}

// Statuses other than the reasons of Events.
const (
	placed  = "Placed"
	foreign = "Unmanaged"
)

// IsOK reports whether a Node has no problem.
func (n *Node) IsOK() bool { return slices.Contains([]string{placed, foreign}, n.Status) }

func vcentersOf(w *world.World) []VCenter {
	vcenters := make([]VCenter, len(w.States))
	for i := range w.States {
		s := &w.States[i]
		vcenters[i].Name = s.VCenter
		if s.Err != nil {
			vcenters[i].Error = quote.Line(s.Err.Error())
		} else if err := w.TagsErr(s); err != nil {
			vcenters[i].TagsError = world.Plain(s.VCenter, err)
		}
	}
	return vcenters
}

func nodeOf(w *world.World, l *world.Look) Node {
	values := placementOf(w, l)
	n := Node{
		Name: l.Node.Name, Initialized: !l.Uninitialized, ProviderID: l.Node.Spec.ProviderID,
		VCenter: l.VCenter(), InstanceType: l.Place.InstanceType,
		Region: values.Value(topology.LabelRegion), Zone: values.Value(topology.LabelZone),
	}
	for i := range l.Node.Spec.Taints {
		n.Taints = append(n.Taints, l.Node.Spec.Taints[i].ToString())
	}
	for _, d := range values.Decisions {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[d.Label] = d.Value
	}
	for _, label := range w.Config.Topology.Policy.Labels() {
		if value := world.ValueOn(l.Node, label); value != "" && !l.Foreign {
			if n.Current == nil {
				n.Current = map[string]string{}
			}
			n.Current[label] = value
		}
	}
	if m := l.Place.VM; m != nil {
		n.VM = m.Ref.ID
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
	if n.Addresses = l.Place.Addresses.Addresses; !l.Uninitialized && !l.Place.AddressesChange {
		n.Addresses = l.Node.Status.Addresses
	}
	for i := range l.Differences {
		d := &l.Differences[i]
		n.Differences = append(n.Differences, Difference{d.Label, d.Have, d.Want, d.Source, d.Missing, world.DifferenceText(d)})
	}
	n.Status, n.Problem = statusOf(l)
	return n
}

// placementOf returns the values that a Node should have. If a required value is missing, it returns the
// others, which the daemon does not write without it.
func placementOf(w *world.World, l *world.Look) topology.Placement {
	m := l.Place.VM
	if m == nil || l.Place.VMErr != nil || l.Place.PlaceErr == nil {
		return l.Place.Placement
	}
	policy := w.Config.Topology.Policy
	policy.Invisible = inventory.StateOf(w.States, m.Ref.VCenter).Snapshot.InvisibleCategories
	known, _ := world.Lacking(policy, placement.Paths(w.States, m.Ref.VCenter, m.Paths))
	return known
}

func statusOf(l *world.Look) (status, problem string) {
	off, whyOff := l.OffProblem()
	switch {
	case l.Foreign && l.Err != nil:
		return foreign, "no vCenter has its VM, and it is already initialized"
	case l.Foreign:
		return foreign, ""
	case l.Err != nil:
		return l.Reason(), l.Text()
	case l.Uninitialized:
		return world.NotInitialized, "nothing is missing, but the daemon has not initialized it: check whether the daemon runs, and its log"
	case off != "":
		return off, whyOff
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

// listOf returns the table of Nodes, with one column per further level.
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
	list.Columns = append(list.Columns, "INSTANCE-TYPE", "VM", "POWER", "TAINTS", "PROBLEM")
	base := func(object string) string { return strings.TrimPrefix(path.Base("/"+object), "/") }
	for i := range nodes {
		n := &nodes[i]
		names := []string{n.Name, n.Status, n.VCenter, base(n.Datacenter), base(n.Cluster), base(n.Host)}
		cells := make([]string, len(names))
		for i, name := range names {
			cells[i] = cellOf(name)
		}
		cells = append(cells, n.labelCell(topology.LabelRegion), n.labelCell(topology.LabelZone))
		for _, label := range levels {
			cells = append(cells, n.labelCell(label))
		}
		cells = append(cells, cellOf(uniqueIPs(n.Addresses)...), cellOf(n.InstanceType), cellOf(n.VM), cellOf(n.PowerState), cellOf(n.Taints...))
		list.Rows = append(list.Rows, cli.Row{Name: n.Name, Cells: append(cells, cmp.Or(n.Problem, world.Nothing)), Color: colorOf(n)})
	}
	return list
}

func colorOf(n *Node) cli.Color {
	switch {
	case n.Status == foreign:
		return cli.Faint
	case n.IsOK():
		return ""
	case n.Status == world.NotInitialized || slices.Contains(world.DifferenceReasons()[1:], n.Status):
		return cli.Yellow
	}
	return cli.Red
}

// labelCell returns the value that a Node should have, followed by its present value if that differs.
func (n *Node) labelCell(label string) string {
	cell := cellOf(n.Labels[label])
	current := n.Current[label]
	switch {
	case current == n.Labels[label]:
		return cell
	case current != "":
		return cell + " (label: " + quote.Plain(current) + ")"
	case n.Initialized && n.Status != foreign:
		return cell + " (no label)"
	}
	return cell
}

func cellOf(values ...string) string {
	var texts []string
	for _, v := range values {
		if v != "" {
			texts = append(texts, quote.Plain(v))
		}
	}
	return cmp.Or(strings.Join(texts, ","), world.Nothing)
}

func uniqueIPs(nodeAddresses []v1.NodeAddress) (texts []string) {
	for _, a := range nodeAddresses {
		isIP := a.Type == v1.NodeInternalIP || a.Type == v1.NodeExternalIP
		if isIP && !slices.Contains(texts, a.Address) {
			texts = append(texts, a.Address)
		}
	}
	return texts
}
