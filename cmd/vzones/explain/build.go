package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// Explanation describes one Node. Empty sections are absent from the output.
type Explanation struct {
	Node Node `json:"node"`
	// Identified lists the references to the VM and the matches.
	Identified *cli.Branch `json:"identified"`
	// VM is absent if the VM is unknown or another Node owns it.
	VM *VM `json:"vm,omitempty"`
	// Paths lead from the VM to the root folder, in the order of resolution.
	Paths []*cli.Branch `json:"paths,omitempty"`
	// Labels are in the order of the configuration, then the instance type.
	Labels *cli.Branch `json:"labels,omitempty"`
	// Conflicts are independent of the Node's current labels. They are absent if a problem contains them.
	Conflicts *cli.Branch `json:"conflicts,omitempty"`
	Addresses *cli.Branch `json:"addresses,omitempty"`
	// Deletion lists the conditions for the deletion of a Node that is not ready.
	Deletion *cli.Branch `json:"deletion,omitempty"`
	Unread   *cli.Branch `json:"unreadableVCenters,omitempty"`
	// Problems are the Node's problems. If there are any, the exit status is 1.
	Problems []Problem `json:"problems,omitempty"`
}

// Node describes a Node, or the stand-in for a VM that has no Node.
type Node struct {
	Name string `json:"name"`
	// InCluster is false for a stand-in.
	InCluster bool `json:"inCluster"`
	// Managed is false for a Node of another provider or outside nodes.selector.
	Managed     bool   `json:"managed"`
	Initialized bool   `json:"initialized"`
	Ready       bool   `json:"ready"`
	ProviderID  string `json:"providerID,omitempty"`
	SystemUUID  string `json:"systemUUID,omitempty"`
}

// VM describes a VM.
type VM struct {
	VCenter string `json:"vcenter"`
	ID      string `json:"id"`
	Path    string `json:"path"`
	UUID    string `json:"uuid"`
	Power   string `json:"power,omitempty"`
}

// Problem is a problem of the Node.
type Problem struct {
	// Reason is the reason of the daemon's Event, such as VMNotFound.
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

func explain(ctx context.Context, w *world.World, s *subject) *Explanation {
	n := s.node
	l := w.Look(s.node)
	e := &Explanation{
		Node: Node{
			Name: n.Name, InCluster: !s.standIn, Managed: !l.Foreign, Initialized: !nodeinfo.IsUninitialized(n), Ready: nodeinfo.IsReady(n),
			SystemUUID: n.Status.NodeInfo.SystemUUID, ProviderID: n.Spec.ProviderID,
		},
		Identified: identified(w, l, s.standIn),
	}
	for i := range w.States {
		if err := w.States[i].Err; err != nil {
			section(&e.Unread, "vCenters that could not be read").Add(cli.Yellow, "%s", quote.Text(err.Error()))
		}
	}
	if m := l.Place.VM; m != nil {
		e.VM = &VM{m.Ref.VCenter, m.Ref.ID, m.InventoryPath, m.UUID.String(), string(m.Power)}
		e.Paths = paths(w, m)
		e.Addresses = addressTree(l, s.standIn)
	}
	if !l.Foreign {
		e.Labels = labels(&w.Placer.Topology().Policy, l, s.standIn)
		if l.Err != nil {
			e.Problems = append(e.Problems, Problem{l.Reason(), l.Text()})
		} else if reason, text := l.OffProblem(); reason != "" {
			e.Problems = append(e.Problems, Problem{reason, text})
		}
		if err := l.Place.Addresses.OmittedErr; err != nil {
			e.Problems = append(e.Problems, Problem{report.ReasonAddressOmitted, quote.Line(err.Error())})
		}
	}
	if e.Node.InCluster && e.Node.Managed && !e.Node.Initialized && l.Err == nil {
		e.Problems = append(e.Problems, Problem{world.NotInitialized, "the daemon initializes the Node within seconds; if it does not, run vzones check, which checks the daemon"})
	}
	if text := l.OutOfService(); text != "" {
		e.Problems = append(e.Problems, Problem{"OutOfServiceTaintAdded", text})
	}
	for i := range l.Differences {
		d := &l.Differences[i]
		e.Problems = append(e.Problems, Problem{world.DifferenceReason(d), world.DifferenceText(d)})
	}
	for _, c := range l.Place.Placement.Conflicts {
		isKnown := func(p Problem) bool { return strings.Contains(p.Text, quote.Line(c.Text())) }
		if !l.Foreign && !slices.ContainsFunc(e.Problems, isKnown) {
			section(&e.Conflicts, "Conflicts, to be resolved in vSphere or in the configuration").Add(cli.Yellow, "%s: %s", c.Kind, c.Text())
		}
	}
	if s.standIn || e.Node.Ready {
		return e
	}
	searchCtx, cancel := w.Within(ctx)
	defer cancel()
	isDeleted := false
	if e.Deletion, isDeleted = deletion(w.Checker.Conditions(searchCtx, w.StatesFor(n), n)); isDeleted {
		e.Problems = append(e.Problems, Problem{"NodeDeleted", "all conditions for deleting the Node are met, so the daemon deletes it, unless the Event NodeDeletionBlocked names a wait"})
	}
	return e
}

func section(field **cli.Branch, title string) *cli.Branch {
	if *field == nil {
		*field = &cli.Branch{Text: title, Color: cli.Bold}
	}
	return *field
}

func (e *Explanation) print(t *cli.Tool) error {
	root := &cli.Branch{Text: "VM", Color: cli.Bold, Below: []*cli.Branch{e.Identified}}
	if m := e.VM; m != nil {
		root.Add("", "VM %s of vCenter %q (%s), UUID %s, %s", quote.Name(m.Path), m.VCenter, quote.Plain(m.ID), m.UUID, cmp.Or(m.Power, "power state unknown")).Below = e.Paths
	}
	return t.PrintTrees(e.verdict(), root, e.Labels, e.Conflicts, e.Addresses, e.Deletion, e.Unread)
}

func (e *Explanation) verdict() *cli.Branch {
	verdict := &cli.Branch{Text: e.title(), Color: cli.Bold}
	switch {
	case len(e.Problems) > 0:
		for _, p := range e.Problems {
			verdict.Add(cli.Red, "%s: %s", p.Reason, p.Text)
		}
	case !e.Node.Managed:
		verdict.Add("", "vzones does not manage the Node")
	case !e.Node.InCluster:
		verdict.Add(cli.Green, "a Node on this VM would be initialized")
	default:
		verdict.Add(cli.Green, "the Node has no problems")
	}
	return verdict
}

func (e *Explanation) title() string {
	if !e.Node.InCluster {
		return quote.Value(e.Node.Name) + " has no Node; a new Node would get what follows"
	}
	status := "not ready"
	if e.Node.Ready {
		status = "ready"
	}
	if e.Node.Initialized {
		status += ", initialized"
	} else {
		status += ", uninitialized"
	}
	if !e.Node.Managed {
		status += ", not managed by vzones"
	}
	return fmt.Sprintf("Node %s (%s)", quote.Plain(e.Node.Name), status)
}

func identified(w *world.World, l *world.Look, standIn bool) *cli.Branch {
	if w.Placer.IsForeign(l.Node) {
		b := &cli.Branch{Text: "vzones does not search for its VM"}
		id := l.Node.Spec.ProviderID
		switch {
		case w.Placer.OtherProvider(w.States, l.Node) != "":
			b.Add(cli.Yellow, "the provider ID %s belongs to another provider, but a vCenter has a VM with the system UUID: see vzones explain VZ168", quote.Value(id))
		case nodeinfo.IsOtherProviders(id):
			b.Add("", "the provider ID %s belongs to another provider", quote.Value(id))
		default:
			b.Add("", "nodes.selector excludes the Node")
		}
		return b
	}
	id := l.Identity
	m := l.Place.VM
	how := ""
	switch {
	case standIn:
		how = "by its UUID " + id.UUIDs[0].String()
	case l.Node.Spec.ProviderID != "" && len(id.UUIDs) > 0:
		how = "by the provider ID " + quote.Plain(l.Node.Spec.ProviderID)
	case len(id.UUIDs) > 0 && m != nil && m.UUID != id.UUIDs[0]:
		how = "by the system UUID that the kubelet reports, in vSphere's byte order " + m.UUID.String()
	case len(id.UUIDs) > 0:
		how = "by the system UUID " + id.UUIDs[0].String() + " that the kubelet reports"
	case id.Name != "":
		how = "by the name " + quote.Plain(id.Name) + ", because it has no UUID"
	}
	_, unusable := w.Placer.ReportedIdentity(l.Node)
	b := &cli.Branch{Text: "identified " + how}
	switch {
	case unusable != nil || how == "":
		b.Text = "contains no valid reference to its VM"
	case m == nil && l.Err != nil:
		b.Text = "searched for " + how
	}
	if recorded := id.Recorded; recorded.VCenter != "" {
		b.Add(cli.Faint, "recorded on the Node: %s", quote.Value(recorded.VCenter+"/"+recorded.ID))
	}
	if unusable != nil {
		return b
	}
	ownVM, otherVMs := candidates(w, l)
	if ownVM != "" {
		b.Add(cli.Green, "%s", ownVM)
	}
	for _, text := range otherVMs {
		b.Add(cli.Faint, "%s", text)
	}
	return b
}

// paths returns the paths of a VM: first the resolved paths in order, then the rest. An object on
// several paths is described on the first.
func paths(w *world.World, m *inventory.VM) (all []*cli.Branch) {
	policy := &w.Placer.Topology().Policy
	walked := policy.TagPaths()
	seen := map[topology.Ref]bool{}
	contenders := placement.Contenders(w.States, *policy, m)
	for i, kind := range append(slices.Clone(walked), topology.DefaultPaths()...) {
		isWalked := i < len(walked)
		if !isWalked && slices.Contains(walked, kind) {
			continue
		}
		for _, p := range m.Paths {
			if p.Kind != kind {
				continue
			}
			branch := &cli.Branch{Text: string(kind) + " path", Color: cli.Blue}
			if !isWalked {
				branch.Text += " (not searched for tags)"
			}
			all = append(all, branch)
			for _, o := range p.Objects {
				if seen[o.Ref] {
					branch.Add(cli.Faint, "%s, as above", topology.DescribeObjects([]*topology.Object{o}))
					// The error of the shared part is already shown.
					p.Broken = nil
					break
				}
				seen[o.Ref] = true
				branch = addObject(branch, o, isWalked, policy, contenders)
			}
			if p.Broken != nil {
				branch.Add(cli.Yellow, "the objects above cannot be read: %s", quote.Line(p.Broken.Error()))
			}
		}
	}
	return all
}

func addObject(parent *cli.Branch, o *topology.Object, isWalked bool, policy *topology.Policy, contenders []topology.Contender) *cli.Branch {
	b := parent.Add("", "%s", topology.DescribeObjects([]*topology.Object{o}))
	if o.TagsErr != nil && isWalked {
		b.Add(cli.Yellow, "tags not read: %s", quote.Line(o.TagsErr.Error()))
	}
	if g := o.HostGroups; g != nil && policy.HostGroups() && len(g.Names) > 0 {
		b.Add("", "DRS host groups: %s", strings.Join(world.Quoted(g.Names), ", "))
	}
	if d := o.FaultDomain; d != nil && policy.FaultDomains() && len(d.Names) > 0 {
		b.Add("", "vSAN fault domain: %s", quote.Value(d.Names[0]))
	}
	for _, t := range o.Tags {
		name := fmt.Sprintf("tag %s: %s", quote.Plain(t.Category), quote.Plain(t.Name))
		isUsed := false
		for _, c := range contenders {
			if c.Tag != t || c.By.Ref.ID != o.Ref.ID || c.By.Ref.Type != o.Ref.Type {
				continue
			}
			isUsed = true
			switch c.Fate {
			case topology.FateDecides:
				b.Add(cli.Green, "%s → %s", name, c.Label)
			case topology.FateTwoTags, topology.FateInvalid:
				b.Add(cli.Red, "%s for %s: %s", name, c.Label, c.Fate.Text())
			default:
				b.Add(cli.Faint, "%s for %s: %s", name, c.Label, c.Fate.Text())
			}
		}
		if !isUsed {
			b.Add(cli.Faint, "%s (no label uses this category)", name)
		}
	}
	return b
}

func labels(policy *topology.Policy, l *world.Look, standIn bool) *cli.Branch {
	root := &cli.Branch{Text: "Labels", Color: cli.Bold}
	for _, key := range append(policy.Labels(), plan.LabelInstanceType) {
		label := l.Label(key)
		current := world.ValueOn(l.Node, key)
		if label.Difference != nil && label.Difference.Have != "" {
			current = label.Difference.Have // Either the stable or the beta label differs.
		}
		if key != plan.LabelInstanceType && label.Undecided == "" && l.Err != nil && len(l.Place.Placement.Decisions) == 0 {
			label.Undecided = "the Node has no placement: see the problems"
		}
		text := "expected " + quote.Value(label.Place)
		color := cli.Color("")
		switch {
		case label.Place == "" && label.Undecided != "":
			text = "undecided"
			color = cli.Yellow
		case label.Place == "":
			text = "no expected value"
		case label.Place == current && label.Difference == nil:
			text = quote.Value(current) + " on the Node, as expected"
			color = cli.Green
		}
		switch {
		case color == cli.Green:
		case current != "":
			text = quote.Value(current) + " on the Node, " + text
		case !standIn:
			text = "not on the Node, " + text
		}
		if label.Difference != nil {
			color = cli.Red
		}
		b := root.Add(color, "%s: %s", key, text)
		addLine := func(color cli.Color, prefix, text string) {
			if text != "" {
				b.Add(color, "%s%s", prefix, text)
			}
		}
		addLine("", "from ", label.Source)
		addLine(cli.Yellow, "", label.Undecided)
		for _, d := range l.Place.Placement.Decisions {
			if d.Label != key {
				continue
			}
			addLine(cli.Faint, "", why(policy, &l.Place.Placement, &d))
			if err := d.Uncertainty(); err != nil {
				addLine(cli.Yellow, "uncertain: ", quote.Line(err.Error()))
			}
		}
		addLine("", "", label.Text)
	}
	if l.Plan != nil && l.Plan.Taint {
		root.Add(cli.Red, "the Node has or gets the taint "+nodeinfo.DriftTaint)
	}
	return root
}

// why describes the rule by which a tag decided a label. It returns "" for a label from another source.
func why(policy *topology.Policy, placed *topology.Placement, d *topology.Decision) string {
	var order []string
	for _, kind := range policy.TagPaths() {
		order = append(order, string(kind))
	}
	paths := strings.Join(order, ", ")
	switch {
	case d.Category == "":
		return ""
	case policy.IsLevel(d.Label):
		return "the nearest tag on the first path with a tag of the category (" + paths + ")"
	}
	return fmt.Sprintf("the %s path is the first with every required category (%s); precedence %s",
		placed.Path, paths, cmp.Or(policy.Precedence, topology.PrecedenceCSI))
}

func addressTree(l *world.Look, standIn bool) *cli.Branch {
	root := &cli.Branch{Text: "Addresses", Color: cli.Bold}
	for _, address := range l.Place.Addresses.Addresses {
		switch {
		case standIn && address.Address == l.Node.Name: // The stand-in is named after its UUID.
		case slices.Contains(l.Node.Status.Addresses, address):
			root.Add(cli.Green, "%s %s, on the Node", address.Type, quote.Plain(address.Address))
		case l.Place.AddressesChange && !standIn:
			root.Add("", "%s %s, to be written by the daemon", address.Type, quote.Plain(address.Address))
		default:
			root.Add("", "%s %s, according to the rules", address.Type, quote.Plain(address.Address))
		}
	}
	if err := l.Place.AddressErr; err != nil {
		root.Add(cli.Red, "%s", quote.Line(err.Error()))
	}
	var results *cli.Branch
	for _, r := range l.Place.Addresses.Results {
		if results == nil {
			results = root.Add("", "all addresses of the VM")
		}
		origin := "on network " + quote.Value(r.Network)
		switch {
		case r.Assumed && r.Static:
			origin = "from the VM's metadata, not reported by VMware Tools"
		case r.Assumed:
			origin = "from the kubelet's --node-ip, not reported by VMware Tools"
		case r.Static:
			origin += ", in the VM's metadata"
		}
		text := r.Internal.String()
		if external := r.External.String(); external != text {
			text = fmt.Sprintf("internal: %s, external: %s", text, external)
		}
		color := cli.Faint
		if r.Internal.Chosen() || r.External.Chosen() {
			color = cli.Green
		}
		results.Add(color, "%s %s: %s", r.Address, origin, text)
	}
	return root
}

func deletion(conditions []placement.Condition) (root *cli.Branch, isDeleted bool) {
	root = &cli.Branch{Text: "Deletion: the daemon deletes the Node, because all conditions are met", Color: cli.Bold}
	isDeleted = true
	for _, c := range conditions {
		text := conditionTexts[c.Name]
		if c.Err != nil {
			text += " (" + quote.Line(c.Err.Error()) + ")"
		}
		isDeleted = isDeleted && c.Holds()
		switch {
		case !c.Checked:
			root.Add(cli.Faint, "not checked: %s", text)
		case c.Holds():
			root.Add("", "met: %s", text)
		default:
			root.Add(cli.Green, "not met: %s", text)
		}
	}
	root.Add(cli.Faint, "not checked: the daemon has watched each vCenter for --deletion-hold")
	if !isDeleted {
		root.Text = "Deletion: the Node is kept, because not all conditions are met"
	}
	return root, isDeleted
}

var conditionTexts = map[placement.ConditionName]string{
	placement.Managed:      "the Node is managed by vzones",
	placement.NotReady:     "the Node is not ready",
	placement.IdentifiesVM: "the Node identifies its VM",
	placement.Absent:       "every vCenter was read completely, and none has the VM",
	placement.FoundBefore:  "the VM was found before",
	placement.Enabled:      "nodes.skipDeletion is not set",
	placement.Searched:     "a direct search of every vCenter does not find the VM",
	placement.Detached:     "the volumes of an out-of-service Node are detached, or a minute has passed",
}
