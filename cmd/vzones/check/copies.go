package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/provider/plan"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// copyKinds are the kinds of objects that contain a copy of a zone, which Kubernetes never updates. The
// order matters: csiNodes computes the labels that the CSI driver would set, which the later comparisons
// read.
var copyKinds = []struct {
	resource schema.GroupVersionResource
	isCSI    bool // Only the CSI driver creates such objects.
	compare  func(*comparison, []unstructured.Unstructured)
}{
	{storagev1.SchemeGroupVersion.WithResource("csinodes"), true, (*comparison).csiNodes},
	{schema.GroupVersionResource{Group: "cns.vmware.com", Version: "v1alpha1", Resource: "csinodetopologies"}, true, (*comparison).csiTopologies},
	{v1.SchemeGroupVersion.WithResource("persistentvolumes"), false, (*comparison).volumes},
	{storagev1.SchemeGroupVersion.WithResource("storageclasses"), false, (*comparison).classes},
}

// notCompared are the copies that are replaced with a Pod or a rollout, or that another controller manages.
var notCompared = []string{"Pods", "EndpointSlices", "Cluster API"}

type copies struct {
	items  map[string][]unstructured.Unstructured
	errors map[string]error
	// noDriver reports whether the vSphere CSI driver is certainly not installed, noZones whether it is not
	// installed or reports no topology keys.
	noDriver, noZones bool
}

const notListed = "the kubeconfig's user may not list them"

// readCopies lists the objects of all copyKinds. It lists none if the Nodes were not listed.
func readCopies(ctx context.Context, w *world.World) copies {
	c := copies{items: map[string][]unstructured.Unstructured{}, errors: map[string]error{}}
	if w.NoNodes != nil || w.Client == nil {
		return c
	}
	client, err := dynamic.NewForConfig(w.RESTConfig)
	for _, kind := range copyKinds {
		name := kind.resource.Resource
		failed := err
		if err == nil {
			list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				return client.Resource(kind.resource).List(ctx, opts)
			}
			failed = pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
				c.items[name] = append(c.items[name], *o.(*unstructured.Unstructured))
				return nil
			})
		}
		if failed != nil && !apierrors.IsNotFound(failed) {
			c.errors[name] = failed
		}
	}
	c.readDriver(ctx, w.Client)
	return c
}

// readDriver sets noDriver and noZones from the driver's registrations in CSINodes and from its CSIDriver
// object. A driver that is installed but not yet registered on any Node may report zones.
func (c *copies) readDriver(ctx context.Context, client kubernetes.Interface) {
	nodes := copyKinds[0].resource.Resource
	for i := range c.items[nodes] {
		for _, d := range typed[storagev1.CSINode](&c.items[nodes][i]).Spec.Drivers {
			if d.Name != topology.CSIDriver {
				continue
			}
			if c.noZones = !slices.ContainsFunc(d.TopologyKeys, isCSI); !c.noZones {
				return
			}
		}
	}
	if c.noZones || c.errors[nodes] != nil {
		return
	}
	_, err := client.StorageV1().CSIDrivers().Get(ctx, topology.CSIDriver, metav1.GetOptions{})
	c.noDriver = apierrors.IsNotFound(err)
	c.noZones = c.noDriver
}

type comparison struct {
	*facts
	byName map[string]*node
	// values are the topology labels that the CSI driver would set for each Node.
	values map[*node]map[string]string
	found  []Finding
}

func (f *facts) stale() []Finding {
	c := &comparison{facts: f, byName: map[string]*node{}, values: map[*node]map[string]string{}}
	for _, n := range f.allNodes {
		c.byName[n.name()] = n
	}
	for _, kind := range copyKinds {
		name := kind.resource.Resource
		if err := f.copies.errors[name]; err != nil && (!kind.isCSI || !f.copies.noDriver) {
			finding := c.add("VZ125", name, "they were not compared: "+quote.Text(err.Error()))
			if apierrors.IsForbidden(err) {
				finding.Short = notListed
			}
		}
		kind.compare(c, f.copies.items[name])
	}
	return c.found
}

func (c *comparison) add(id, object, text string) *Finding {
	c.found = append(c.found, Finding{ID: id, Object: object, Text: text})
	return &c.found[len(c.found)-1]
}

// addNode adds a finding about a Node, or about the object of another kind with the Node's name.
func (c *comparison) addNode(id string, n *node, kind, text string) *Finding {
	finding := c.add(id, kind+" "+n.name(), text)
	finding.VCenter = n.VCenter()
	finding.Nodes = []string{n.name()}
	return finding
}

func typed[T any](o *unstructured.Unstructured) *T {
	into := new(T)
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into) // The API server has validated the object.
	return into
}

func isCSI(key string) bool { return strings.HasPrefix(key, topology.CSIDomain+"/") }

// csiNodes compares the topology keys of CSINodes with each other and with the Nodes' labels, and the
// driver's labels of all Nodes with the labels that it would set.
func (c *comparison) csiNodes(items []unstructured.Unstructured) {
	// keys are the topology keys of each Node, used is their union.
	keys := map[string][]string{}
	used := map[string]bool{}
	for i := range items {
		o := typed[storagev1.CSINode](&items[i])
		for _, d := range o.Spec.Drivers {
			if d.Name != topology.CSIDriver {
				continue
			}
			keys[o.Name] = slices.DeleteFunc(slices.Clone(d.TopologyKeys), func(key string) bool { return !isCSI(key) })
			for _, key := range keys[o.Name] {
				used[key] = true
			}
		}
	}
	missingKeys := func(all []string, has func(string) bool) string {
		return strings.Join(slices.DeleteFunc(slices.Sorted(slices.Values(all)), has), ", ")
	}
	for _, n := range c.allNodes {
		ownKeys, isRegistered := keys[n.name()]
		if missing := missingKeys(slices.Collect(maps.Keys(used)), func(key string) bool { return slices.Contains(ownKeys, key) }); isRegistered && missing != "" {
			c.addNode("VZ313", n, "CSINode", fmt.Sprintf("driver %s has no topology key %s, unlike on other Nodes", topology.CSIDriver, missing)).Command = restart(n)
		}
		if missing := missingKeys(ownKeys, func(key string) bool { _, has := n.Node.Labels[key]; return has }); missing != "" {
			c.addNode("VZ312", n, "Node", "label "+missing+" is missing, although its CSINode lists it as a topology key").Command = restart(n)
		}
		if len(ownKeys) == 0 {
			ownKeys = slices.DeleteFunc(slices.Sorted(maps.Keys(n.Node.Labels)), func(key string) bool { return !isCSI(key) })
		}
		values, err := c.walk(n, ownKeys)
		if errors.Is(err, topology.ErrMissing) {
			c.addNode("VZ316", n, "Node", quote.Text(err.Error()))
		}
		c.values[n] = values
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if current, has := n.Node.Labels[key]; has && current != values[key] {
				n.setExpected(key, values[key])
				texts = append(texts, fmt.Sprintf("%s is %s, the driver would set %s", key, quote.Value(current), quote.Value(values[key])))
			}
		}
		if len(texts) > 0 {
			c.addNode("VZ311", n, "Node", strings.Join(texts, "; "))
		}
	}
}

// restart returns the command that restarts the CSI node plugin of a Node. It assumes that the driver was
// installed with its own manifests.
func restart(n *node) string {
	return cli.Shell("kubectl", "-n", "vmware-system-csi", "delete", "pod", "-l", "app=vsphere-csi-node", "--field-selector", "spec.nodeName="+n.name())
}

// walk returns the labels that the driver would set for a Node, or nil if they are unknown. The error is
// ErrMissing if the driver would find no zone.
func (c *comparison) walk(n *node, keys []string) (map[string]string, error) {
	m := n.Place.VM
	if m == nil || n.Uninitialized || n.Foreign || len(keys) == 0 {
		return nil, nil
	}
	readCategories := c.config.Topology.Policy.Categories()
	categories := make([]string, len(keys))
	for i, key := range keys {
		categories[i] = strings.TrimPrefix(key, topology.CSIDomain+"/")
		if !slices.Contains(readCategories, categories[i]) {
			return nil, nil // The tags of this category were not read.
		}
	}
	policy := topology.CSIPolicy(categories)
	if snapshot := inventory.StateOf(c.states, m.Ref.VCenter).Snapshot; snapshot != nil {
		policy.Invisible = snapshot.InvisibleCategories
	}
	placed, err := topology.Resolve(policy, m.Paths)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, d := range placed.Decisions {
		dependsOnOrder := slices.ContainsFunc(placed.Conflicts, func(c topology.Conflict) bool {
			return c.Kind == topology.ConflictTagOrder && slices.Contains(c.Labels, d.Label)
		})
		if d.Uncertainty() == nil && !dependsOnOrder {
			values[d.Label] = d.Value
		}
	}
	return values, nil
}

// csiTopologies compares CSINodeTopologies with the labels that the driver would set. It skips those
// without a Node: they are deleted with their Node.
func (c *comparison) csiTopologies(items []unstructured.Unstructured) {
	for i := range items {
		o := items[i].Object
		n := c.byName[items[i].GetName()]
		if n == nil {
			continue
		}
		const kind = "CSINodeTopology"
		remove := cli.Shell("kubectl", "delete", "csinodetopologies.cns.vmware.com", n.name())
		if state, _, _ := unstructured.NestedString(o, "status", "status"); state == "Error" {
			message, _, _ := unstructured.NestedString(o, "status", "errorMessage")
			c.addNode("VZ315", n, kind, "the driver reports: "+quote.Text(message)).Command = remove
			continue
		}
		entries, _, _ := unstructured.NestedSlice(o, "status", "topologyLabels")
		ownLabels := map[string]string{}
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			key, _ := entry["key"].(string)
			value, _ := entry["value"].(string)
			if key = strings.TrimPrefix(key, topology.CSIDomain+"/"); key != "" {
				ownLabels[topology.CSIDomain+"/"+key] = value
			}
		}
		values := c.values[n]
		if len(values) == 0 {
			values, _ = c.walk(n, slices.Sorted(maps.Keys(ownLabels)))
		}
		var texts []string
		for _, key := range slices.Sorted(maps.Keys(ownLabels)) {
			if want, ok := values[key]; ok && want != ownLabels[key] {
				texts = append(texts, fmt.Sprintf("%s is %s, the driver would set %s", quote.Plain(key), quote.Value(ownLabels[key]), quote.Value(want)))
			}
		}
		if len(texts) > 0 {
			c.addNode("VZ314", n, kind, strings.Join(texts, "; ")).Command = remove
		}
	}
}

func (c *comparison) isTopology(key string) bool {
	return plan.IsRegionOrZone(key) || slices.Contains(c.config.Topology.Policy.Labels(), key) || isCSI(key)
}

// volumes compares the node affinity of PersistentVolumes with the Nodes. It skips released and failed
// volumes, which no Pod can use.
func (c *comparison) volumes(items []unstructured.Unstructured) {
	type existence struct{ own, placed bool }
	// results caches the result by the text of the requirement, which many volumes share.
	results := map[string]existence{}
	for i := range items {
		pv := typed[v1.PersistentVolume](&items[i])
		if pv.Spec.NodeAffinity == nil || pv.DeletionTimestamp != nil || pv.Status.Phase == v1.VolumeReleased || pv.Status.Phase == v1.VolumeFailed {
			continue
		}
		selector, text := c.required(pv.Spec.NodeAffinity.Required)
		if selector == nil {
			continue
		}
		fits, ok := results[text]
		if !ok {
			fits.own = slices.ContainsFunc(c.allNodes, func(n *node) bool { return selector.Match(n.Node) })
			fits.placed = slices.ContainsFunc(c.allNodes, func(n *node) bool { return selector.Match(n.expected) })
			results[text] = fits
		}
		claim := ""
		if claimRef := pv.Spec.ClaimRef; claimRef != nil {
			claim = fmt.Sprintf(" (claim %s/%s)", quote.Plain(claimRef.Namespace), quote.Plain(claimRef.Name))
		}
		object := "PersistentVolume " + pv.Name
		switch {
		case !fits.own:
			c.add("VZ321", object, "no Node has "+text+claim).Short = "no Node has " + text
		case !fits.placed:
			c.add("VZ322", object, "only Nodes with stale labels have "+text+claim).Short = "only Nodes with stale labels have " + text
		}
	}
}

// required returns the topology requirements of a node selector and their text, or nil if it has none.
// Selectors with the same text are equal.
func (c *comparison) required(selector *v1.NodeSelector) (*nodeaffinity.NodeSelector, string) {
	if selector == nil {
		return nil, ""
	}
	topologyOnly := &v1.NodeSelector{}
	var texts []string
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // An empty term matches no Node.
		}
		var requirements []v1.NodeSelectorRequirement
		var parts []string
		for _, r := range term.MatchExpressions {
			if !c.isTopology(r.Key) {
				continue
			}
			requirements = append(requirements, r)
			values := make([]string, len(r.Values))
			for j, v := range slices.Sorted(slices.Values(r.Values)) {
				values[j] = quote.Plain(v)
			}
			text := fmt.Sprintf("%s %s (%s)", r.Key, r.Operator, strings.Join(values, ", "))
			if r.Operator == v1.NodeSelectorOpIn && len(values) == 1 {
				text = r.Key + "=" + values[0]
			}
			parts = append(parts, text)
		}
		if len(requirements) == 0 {
			return nil, "" // The terms are ORed, so a term without a topology requirement allows every Node.
		}
		topologyOnly.NodeSelectorTerms = append(topologyOnly.NodeSelectorTerms, v1.NodeSelectorTerm{MatchExpressions: requirements})
		slices.Sort(parts)
		texts = append(texts, strings.Join(parts, " and "))
	}
	compiled, err := nodeaffinity.NewNodeSelector(topologyOnly)
	if err != nil || len(texts) == 0 {
		return nil, "" // The API server rejects such a selector.
	}
	slices.Sort(texts)
	return compiled, strings.Join(slices.Compact(texts), " or ")
}

func (c *comparison) classes(items []unstructured.Unstructured) {
	for i := range items {
		class := typed[storagev1.StorageClass](&items[i])
		missingZones := map[string]bool{}
		isPossible := false
		isTied := false
		for _, term := range class.AllowedTopologies {
			isPossible = isPossible || slices.ContainsFunc(c.allNodes, func(n *node) bool {
				return !slices.ContainsFunc(term.MatchLabelExpressions, func(r v1.TopologySelectorLabelRequirement) bool {
					value, has := n.Node.Labels[r.Key]
					return c.isTopology(r.Key) && (!has || !slices.Contains(r.Values, value))
				})
			})
			for _, r := range term.MatchLabelExpressions {
				if !c.isTopology(r.Key) {
					continue
				}
				isTied = true
				for _, value := range r.Values {
					if !slices.ContainsFunc(c.allNodes, func(n *node) bool { return n.expected.Labels[r.Key] == value }) {
						missingZones[r.Key+"="+quote.Plain(value)] = true
					}
				}
			}
		}
		object := "StorageClass " + class.Name
		zones := strings.Join(slices.Sorted(maps.Keys(missingZones)), ", ")
		switch {
		case !isTied:
		case !isPossible && zones == "":
			c.add("VZ331", object, "no Node has all labels of any of its allowedTopologies")
		case !isPossible:
			c.add("VZ331", object, "no Node has "+zones)
		case zones != "":
			c.add("VZ332", object, "no Node is in "+zones)
		}
	}
}
