package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

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

// node is a Node with the daemon's decision about it.
type node struct {
	*world.Look
	// isPlaced reports whether the place of the Node is known, so that its labels can be compared.
	isPlaced bool
	// expected is a copy of the Node with the labels of its place. It has the present labels if isPlaced is false.
	expected *v1.Node
	// overridden are tags on the VM that another path overrides.
	overridden []topology.Contender
	// otherProvider is the scheme of the provider ID if that is another provider's although a vCenter has the VM.
	otherProvider string
}

func newNode(l *world.Look) *node {
	n := &node{Look: l, expected: &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: l.Node.Name, Labels: maps.Clone(l.Node.Labels)}}}
	decided := l.Err == nil || l.Place.AddressErr != nil && errors.Is(l.Err, l.Place.AddressErr) || len(l.Place.Placement.Decisions) > 0
	n.isPlaced = !l.Foreign && !l.Uninitialized && l.Place.VM != nil && decided
	if !n.isPlaced {
		return n
	}
	for _, d := range l.Differences {
		if d.Label == plan.LabelInstanceType || !d.IsCertain() && !d.Missing {
			continue
		}
		for _, key := range plan.LabelKeys(d.Label) {
			n.setExpected(key, d.Want)
		}
	}
	return n
}

func (n *node) setExpected(key, value string) {
	if n.expected.Labels == nil {
		n.expected.Labels = map[string]string{}
	}
	if n.expected.Labels[key] = value; value == "" {
		delete(n.expected.Labels, key)
	}
}

func (n *node) name() string { return n.Node.Name }

func (n *node) newFinding(id, text string) Finding {
	return Finding{ID: id, VCenter: n.VCenter(), Object: "Node " + n.name(), Text: text, Nodes: []string{n.name()}}
}

func (n *node) zone() string { return n.Place.Placement.Value(topology.LabelZone) }

type nodeList []*node

func (l nodeList) names(holds func(*node) bool) (names []string) {
	for _, n := range l {
		if holds(n) {
			names = append(names, n.name())
		}
	}
	return names
}

// waitsFor reports whether a Node's VM is unknown because a vCenter cannot be read. If the Node's annotation
// names an unreadable vCenter, the Node waits for that vCenter only.
func (n *node) waitsFor(vcenter string) bool {
	unreachable := inventory.UnreachableIn(n.Err)
	return slices.Contains(unreachable, vcenter) && (n.VCenter() == vcenter || !slices.Contains(unreachable, n.VCenter()))
}

func (l nodeList) unknownIn(vcenter string, reason error) []string {
	return l.names(func(n *node) bool { return errors.Is(n.Err, reason) && n.Place.VCenter == vcenter })
}

// nodeKinds maps the outcome of the daemon's decision to a kind of finding. An outcome with an empty kind is
// covered by the finding about its cause: the vCenter, an unreadable VM or the kubelet.
var nodeKinds = map[string]string{
	"provider_id_mismatch":    "VZ151",
	"vm_shared":               "VZ152",
	"system_uuid_missing":     "VZ157",
	"topology_missing":        "VZ150",
	"topology_invalid":        "VZ150",
	"ambiguous":               "VZ153",
	"vm_not_found":            "VZ154",
	"vm_powered_off":          "VZ154",
	"address_conflict":        "VZ159",
	"address_missing":         "VZ158",
	"vm_outside_datacenters":  "VZ155",
	"vcenter_instance_shared": "",
	"credentials_missing":     "",
	"credentials_rejected":    "",
	"category_not_found":      "",
	"certificate_untrusted":   "",
	"vcenter_unreachable":     "",
	"vm_unreadable":           "",
	"unknown":                 "VZ160",
	"provider_id_missing":     "",
}

// commonTexts are the Short texts of findings that several Nodes share.
var commonTexts = map[string]string{
	"VZ154": "no vCenter has a VM with their UUIDs",
	"VZ155": "their VMs are in none of the configured datacenters",
	"VZ157": "their kubelets report no system UUID",
	"VZ163": "they have the taint " + cloudproviderapi.TaintExternalCloudProvider,
}

type nodeCheck struct{ *facts }

func (c *nodeCheck) find() []Finding {
	return slices.Concat(c.unplaced(), c.providerIDs(), c.matchedByName(), c.vms(), c.outOfService(), c.controlPlane(), c.labels())
}

func (c *nodeCheck) settings(n *node) world.VMSettings {
	m := n.Place.VM
	if m == nil {
		return world.VMSettings{}
	}
	if s := c.vcenter(m.Ref.VCenter).surveyed(); s != nil {
		return s.VMs[m.Ref.ID]
	}
	return world.VMSettings{}
}

func (c *nodeCheck) unplaced() (found []Finding) {
	shared := map[string]bool{}
	for _, n := range c.nodes {
		if n.Err == nil {
			if n.Uninitialized && time.Since(n.Node.CreationTimestamp.Time) > time.Minute {
				finding := n.newFinding("VZ163", "it has the taint "+cloudproviderapi.TaintExternalCloudProvider)
				finding.Short = commonTexts["VZ163"]
				found = append(found, finding)
			}
			continue
		}
		outcome := report.OutcomeOfError(n.Err)
		id := nodeKinds[outcome.Name]
		if outcome.Name == "vm_unreadable" && !slices.ContainsFunc(c.vcenters, func(v *vcenterFacts) bool { return c.mayRunOnUnreadable(n, v) }) {
			id = "VZ156"
		}
		if id == "" || c.isExplained(n) {
			continue
		}
		if errors.Is(n.Err, placement.ErrShared) {
			if shared[n.Identity.VMKey()] {
				continue
			}
			shared[n.Identity.VMKey()] = true
		}
		found = append(found, c.unplacedNode(n, id))
	}
	return found
}

func (c *nodeCheck) unplacedNode(n *node, id string) Finding {
	finding := n.newFinding(id, quote.Line(report.EventText(n.Err)))
	finding.HasAdvice = id != "VZ157" && id != "VZ158"
	finding.Short = commonTexts[id]
	deletion := cli.Shell("kubectl", "delete", "node", n.name())
	isReady := nodeinfo.IsReady(n.Node)
	switch id {
	case "VZ150":
		finding.Short, finding.Command = c.missingAbove(n)
	case "VZ151":
		finding.Command = deletion
		if isReady {
			finding.Command = cli.Shell("kubectl", "drain", "--ignore-daemonsets", n.name())
		}
	case "VZ154":
		isDeletedByDaemon := n.Place.WasFound && n.Node.Spec.ProviderID != "" && !c.config.SkipNodeDeletion
		mayBeMetal := n.Uninitialized && n.Node.Spec.ProviderID == ""
		switch {
		case mayBeMetal:
			finding.Short += ", and they have the taint"
			finding.Advice = "Give the account access to the VMs, or add their vCenter to the configuration. Exclude Nodes that are not vSphere VMs with nodes.selector, and remove their taint unless another provider initializes them."
		case isReady:
			finding.Advice = "Give the account access to the VM, or add its vCenter to the configuration. The Node is ready, so its VM runs: do not delete the Node."
		case !errors.Is(n.Err, topology.ErrAbsent):
			// The VM may exist, powered off or invisible to the account. The text contains the remedy.
		case isDeletedByDaemon:
			finding.Advice = "vzones deletes the Node itself once every vCenter confirms that its VM is gone; the Event NodeDeletionBlocked names the cause of a delay. If the VM exists, give the account access to it."
		default:
			finding.Command = deletion
		}
	}
	return finding
}

// missingAbove returns the Short text for a Node without a value, and the command that tags its cluster or
// host.
func (c *nodeCheck) missingAbove(n *node) (lack, command string) {
	o := n.Above(world.TypeCluster)
	if o == nil {
		o = n.Above(world.TypeHost)
	}
	if o == nil {
		return "", ""
	}
	policy := c.config.Topology.Policy
	policy.Invisible = inventory.StateOf(c.states, o.Ref.VCenter).Snapshot.InvisibleCategories
	_, missing := world.Lacking(policy, n.Place.VM.Paths)
	missing = slices.DeleteFunc(missing, func(label string) bool { return !policy.IsRequired(label) })
	return "nothing above their VMs provides a value for " + strings.Join(missing, " and "), c.attach(missing, o)
}

// isExplained reports whether another finding covers the error of a Node: about an unreadable vCenter,
// conflicting or unreadable tags, or VMware Tools that do not run.
func (c *nodeCheck) isExplained(n *node) bool {
	name := report.OutcomeOfError(n.Err).Name
	switch {
	case inventory.FirstUnreachable(n.Err) != nil:
		return true
	case name == "ambiguous" && n.Place.VM != nil, name == "topology_invalid":
		return slices.ContainsFunc(n.Place.Placement.Conflicts, func(c topology.Conflict) bool {
			return slices.Contains([]topology.ConflictKind{topology.ConflictTwoTags, topology.ConflictTwoGroups, topology.ConflictInvalidValue}, c.Kind)
		})
	case name == "unknown", name == "category_not_found":
		return c.isUnknownExplained(n)
	case name == "vm_outside_datacenters":
		return c.vcenter(n.VCenter()).lacksDatacenter(n)
	case name == "address_missing":
		return c.settings(n).LacksTools
	}
	return false
}

func (c *nodeCheck) isUnknownExplained(n *node) bool {
	if errors.Is(n.Err, topology.ErrNoCategory) {
		return true
	}
	nodeVCenter := n.Place.VCenter
	for _, v := range c.vcenters {
		isIn := nodeVCenter == v.state.VCenter
		switch {
		case v.state.Err != nil:
			if nodeVCenter == "" || isIn {
				return true
			}
		case v.lacksDatacenter(n):
			return true
		case isIn && v.tagsErr(&c.config.Topology.Policy) != nil:
			return true
		}
	}
	return errors.Is(n.Err, topology.ErrNotPermitted) && c.hasUnreadableTagsAbove(n)
}

// hasUnreadableTagsAbove reports whether an object above a Node's VM has a finding about unreadable tags.
func (c *nodeCheck) hasUnreadableTagsAbove(n *node) bool {
	return n.Place.VM != nil && slices.ContainsFunc(n.Place.VM.Paths, func(p topology.Path) bool {
		return slices.ContainsFunc(p.Objects, c.isUnreadFound)
	})
}

// matchedByName reports the Nodes that the daemon matches by name: joining Nodes with neither a provider ID nor
// a system UUID.
func (c *nodeCheck) matchedByName() (found []Finding) {
	for _, n := range c.nodes {
		hasUUID := n.Node.Spec.ProviderID != "" || len(nodeinfo.SystemUUIDs(n.Node)) > 0
		if n.Uninitialized && !hasUUID && c.config.MatchByName {
			found = append(found, n.newFinding("VZ162", "the kubelet reports no system UUID, so the Node is matched to the VM with its name"))
		}
	}
	return found
}

// unreadable reports the unreadable VMs of a vCenter in one finding, with the Nodes that may run on
// them. A VM in a Node's annotation is listed with that Node.
func (c *nodeCheck) unreadable(snapshot *inventory.Snapshot) []Finding {
	if len(snapshot.Unreadable) == 0 {
		return nil
	}
	v := c.vcenter(snapshot.VCenter)
	nodes := c.nodes.names(func(n *node) bool { return c.mayRunOnUnreadable(n, v) })
	unlisted := slices.Clone(nodes)
	var names []string
	for id := range snapshot.Unreadable {
		o := &topology.Object{Ref: snapshot.Ref(id)}
		if m := snapshot.VMs[id]; m != nil {
			o.Path = m.InventoryPath
		}
		name := nameOf(o)
		for _, n := range c.nodes {
			if n.Identity.Recorded.ID == id && n.Identity.Recorded.VCenter == snapshot.VCenter {
				name = nameOf(o) + ", the last VM of Node " + n.name()
				unlisted = slices.DeleteFunc(unlisted, func(name string) bool { return name == n.name() })
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	finding := Finding{ID: "VZ161", VCenter: snapshot.VCenter, Object: cli.Count(len(names), "VM"), Text: "unreadable: " + quote.Some(names, quote.Most), Nodes: nodes}
	if len(nodes) > 0 {
		finding.ID = "VZ156"
	}
	if len(unlisted) > 0 {
		finding.Text += "; " + cli.Count(len(unlisted), "Node") + " without a known VM may run on it: " + quote.Some(unlisted, quote.Most)
	}
	return []Finding{finding}
}

// mayRunOnUnreadable reports whether a Node may run on an unreadable VM of a vCenter, and its annotation
// names no other vCenter with such VMs.
func (c *nodeCheck) mayRunOnUnreadable(n *node, v *vcenterFacts) bool {
	isOwn := n.VCenter() == v.state.VCenter
	return errors.Is(n.Err, inventory.ErrUnreadable) && v.hasUnreadable() && (isOwn || !c.vcenter(n.VCenter()).hasUnreadable())
}

// vms reports settings of Nodes' VMs, and tags on VMs that another path overrides.
func (c *nodeCheck) vms() (found []Finding) {
	for _, n := range c.nodes {
		for _, lost := range n.overridden {
			found = append(found, n.newFinding("VZ146", fmt.Sprintf("its VM has tag %s of category %s, but %s is %s because another path takes precedence",
				quote.Value(lost.Tag.Name), quote.Value(lost.Tag.Category), world.Short(lost.Label), quote.Value(n.Place.Placement.Value(lost.Label)))))
		}
		if n.Place.VM == nil {
			continue
		}
		if omitted := n.Place.Addresses.OmittedErr; omitted != nil {
			finding := n.newFinding("VZ172", quote.Line(omitted.Error()))
			finding.Short = "the --node-ip of their kubelets lacks a family of ipFamily"
			found = append(found, finding)
		}
		m := c.settings(n)
		path := n.Place.VM.InventoryPath
		vm := nameOf(&topology.Object{Ref: n.Place.VM.Ref, Path: path})
		if m.LacksDiskUUID {
			finding := n.newFinding("VZ165", "disk.enableUUID is off in "+vm)
			finding.Short = "disk.enableUUID is off in their VMs"
			finding.Command = cli.Shell("govc", "vm.change", "-vm", path, "-e", "disk.enableUUID=TRUE")
			found = append(found, finding)
		}
		if n.Err == nil && n.Place.VM.Power.IsOff() {
			finding := n.newFinding("VZ164", vm+" is off")
			finding.Short = "their VMs are off"
			finding.Command = cli.Shell("govc", "vm.power", "-on", path)
			found = append(found, finding)
		}
		if m.LacksTools {
			finding := n.newFinding("VZ166", "VMware Tools is not running in "+vm)
			finding.Short = "VMware Tools is not running in their VMs"
			found = append(found, finding)
		}
	}
	return found
}

// outOfService reports the Nodes with the out-of-service taint of vzones.
func (c *nodeCheck) outOfService() (found []Finding) {
	for _, n := range c.nodes {
		if text := n.OutOfService(); text != "" {
			found = append(found, n.newFinding("VZ169", text))
		}
	}
	return found
}

// controlPlane reports a control plane in a single zone if the cluster has several zones.
func (c *nodeCheck) controlPlane() []Finding {
	var members []string
	zones := map[string]bool{}
	controlPlaneZones := map[string]bool{}
	for _, n := range c.nodes {
		if n.zone() != "" {
			zones[n.zone()] = true
		}
		if n.IsControlPlane() {
			members = append(members, n.name())
			controlPlaneZones[n.zone()] = true
		}
	}
	if len(members) < 2 || len(controlPlaneZones) > 1 || controlPlaneZones[""] || len(zones) < 2 {
		return nil
	}
	return []Finding{{
		ID: "VZ176", Object: "zone " + quote.Value(slices.Collect(maps.Keys(controlPlaneZones))[0]), Nodes: members,
		Text: fmt.Sprintf("all %d control plane Nodes are in this zone, while the cluster has Nodes in %d zones", len(members), len(zones)),
	}}
}

func (c *nodeCheck) labels() (found []Finding) {
	for _, n := range c.nodes {
		if !n.isPlaced {
			continue
		}
		byID := map[string][]plan.Difference{}
		for _, d := range n.Differences {
			switch {
			case d.Label == plan.LabelInstanceType:
			case d.IsCertain() || d.Missing:
				id := n.driftID(d)
				byID[id] = append(byID[id], d)
			case !c.hasUnreadableTagsAbove(n):
				found = append(found, n.newFinding("VZ160", world.DifferenceText(&d)))
			}
		}
		for id, differences := range byID {
			found = append(found, n.differenceFinding(id, differences))
		}
	}
	return found
}

func (n *node) driftID(d plan.Difference) string {
	current, ok := n.Node.Labels[d.Label]
	switch {
	case d.Want == "":
		return "VZ305"
	case !plan.IsRegionOrZone(d.Label):
		return "VZ304"
	case !ok && d.Missing:
		return "VZ302"
	case current == d.Want:
		return "VZ303"
	}
	return "VZ301"
}

func (n *node) differenceFinding(id string, differences []plan.Difference) Finding {
	var texts, set []string
	for _, d := range differences {
		keys := plan.LabelKeys(d.Label)
		if d.Want == "" && plan.IsRemovable(d.Label) {
			set = append(set, d.Label+"-")
		}
		for _, key := range keys {
			if d.Want != "" && n.Node.Labels[key] != d.Want {
				set = append(set, key+"="+d.Want)
			}
		}
		if id == "VZ303" {
			d.Label = keys[0]
		}
		texts = append(texts, world.DifferenceText(&d))
	}
	finding := n.newFinding(id, strings.Join(texts, "; "))
	if len(set) > 0 {
		finding.Command = cli.Shell(append([]string{"kubectl", "label", "node", n.name(), "--overwrite"}, set...)...)
	}
	return finding
}

// providerIDs reports Nodes on vSphere VMs that have no provider ID or another provider's.
func (c *nodeCheck) providerIDs() (found []Finding) {
	for _, n := range c.allNodes {
		err := nodeinfo.CheckProviderID(n.Node)
		switch {
		case n.otherProvider != "":
			finding := n.newFinding("VZ168", "its provider ID is "+quote.Value(n.Node.Spec.ProviderID)+", but a vCenter has a VM with its system UUID")
			finding.Short = "their provider IDs begin with " + n.otherProvider + ", but vCenters have VMs with their system UUIDs"
			found = append(found, finding)
		case err != nil && !n.Foreign && n.Place.VMErr == nil:
			finding := n.newFinding("VZ167", quote.Line(err.Error()))
			finding.HasAdvice = true
			finding.Short = "their kubelets run without --cloud-provider=external"
			finding.Command = nodeinfo.TaintCommand(n.name(), "=true:NoSchedule")
			found = append(found, finding)
		}
	}
	return found
}
