package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/test/cluster"
	"vzones/test/fleet"
	"vzones/test/stack"
)

func nodeCommands() []command {
	return []command{
		{"node create NODE… [by-kubelet] [swapped] [vm=VM] [uuid=UUID] [provider-id=ID] [node-ip=IP] [address=IP[,IP]] [hostname=NAME] [label=KEY=VALUE] [untainted] [initialized=REGION/ZONE/TYPE]",
			"registers Nodes like the kubelets of the VMs with these names; `by-kubelet`: by a real kubelet without containers, which runs until the scenario ends; `swapped`: with the system UUID in the other byte order; " +
				"`vm=`: for a VM with another name; `uuid=`: with this system UUID, whether or not a VM has it, or without a system UUID (`uuid=none`); " +
				"`provider-id=`, `node-ip=`: as with these kubelet flags; `address=`: with this InternalIP and ExternalIP, as written by another cloud provider, or with addresses of two families; `hostname=`: with this Hostname; `label=`: with this label; `untainted`: without the taint, as without `--cloud-provider=external`; " +
				"`initialized=`: as initialized by the vSphere CPI: untainted, with the VM's provider ID unless `provider-id=` sets another, and with these labels and their beta labels; TYPE is the instance type, or `none` as after the in-tree provider; " +
				"`size:N` at the end of a value of `uuid=`, `provider-id=` or `node-ip=` is replaced with N letters, such as `provider-id=vsphere://size:1MB`", createNodes},
		{"node label NODE KEY=VALUE", "sets a label of a Node, as an administrator does; `KEY=none` removes it", patchNode("labels")},
		{"node annotate NODE KEY=VALUE", "sets an annotation of a Node, as its kubelet may; `KEY=none` removes it; `${…}` is replaced as in a configuration", patchNode("annotations")},
		{"node taint NODE", "replaces all taints of a Node with the cloud provider's taint, as an administrator does", setTaints(
			v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule})},
		{"node untaint NODE", "removes all taints of a Node, as an administrator does", setTaints()},
		{"node restart NODE… [label=KEY=VALUE]", "restarts the kubelets of Nodes, or starts them if they were killed; `label=`: with this label in `--node-labels`", restartKubelets},
		{"node rebuilt NODE VM", "sets a Node's system UUID to another VM's, as when a VM is rebuilt under its old name and its kubelet takes over the Node; " +
			"`none`: the kubelet reports no system UUID", func(a *arguments) action {
			node := a.word("NODE")
			vm := a.word("VM")
			return onNodes([]string{node}, func(ctx context.Context, w *world, name string) error {
				var m fleet.VM
				if vm != none {
					var err error
					if m, err = w.vmNamed(vm); err != nil {
						return err
					}
				}
				if n := w.nodes[name]; n.kubelet != nil {
					n.kubelet.options.SystemUUID = m.UUID
					return w.boot(ctx, n)
				}
				return w.patch(ctx, name, map[string]any{"status": map[string]any{"nodeInfo": map[string]any{"systemUUID": m.UUID}}}, "status")
			})
		}},
		{"node ready NODE…", "sets the Ready condition of Nodes to True, as their kubelets do; starts a killed kubelet", func(a *arguments) action {
			return onNodes(a.rest(), setReady)
		}},
		{"node unknown NODE…", "kills the kubelets of Nodes, and sets the Ready condition to Unknown, as the control plane does when kubelets stop reporting", setUnknown},
		{"node attach NODE…", "adds a volume to the status of Nodes, as kube-controller-manager does when it attaches a volume", setVolumes(v1.AttachedVolume{Name: "kubernetes.io/csi/a-volume"})},
		{"node detach NODE…", "removes all volumes from the status of Nodes, as kube-controller-manager does before it detaches them", setVolumes()},
		{"node delete NODE…", "deletes Nodes", func(a *arguments) action {
			return onNodes(a.rest(), func(ctx context.Context, w *world, name string) error {
				return w.stack.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
			})
		}},
	}
}

type registration struct {
	name string
	uid  types.UID
	// providerID is the expected provider ID, if the Node was created for a VM.
	providerID string
	// made is the Node as created, or as its kubelet made it ready.
	made *v1.Node
	// marked is the Node at the last mark, nil without a mark.
	marked *v1.Node
	// kubelet is nil if no kubelet was started for the Node.
	kubelet  *kubeletProcess
	vmsNamed func(pattern string) ([]fleet.VM, error)
}

func setTaints(taints ...v1.Taint) func(*arguments) action {
	return func(a *arguments) action {
		return onNodes([]string{a.word("NODE")}, func(ctx context.Context, w *world, name string) error {
			return w.patch(ctx, name, map[string]any{"spec": map[string]any{"taints": taints}})
		})
	}
}

func setVolumes(volumes ...v1.AttachedVolume) func(*arguments) action {
	return func(a *arguments) action {
		return onNodes(a.rest(), func(ctx context.Context, w *world, name string) error {
			return w.patch(ctx, name, map[string]any{"status": map[string]any{"volumesAttached": volumes}}, "status")
		})
	}
}

// onNodes changes Nodes and waits until the observer has seen the changes, so that the next condition sees them.
func onNodes(patterns []string, change func(context.Context, *world, string) error) action {
	return func(ctx context.Context, w *world) error {
		nodes, err := w.registered(patterns)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if err := change(ctx, w, n.name); err != nil {
				return err
			}
			if err := w.awaitCurrent(ctx, n.name); err != nil {
				return err
			}
		}
		return nil
	}
}

type kubelet struct {
	isReal, swapped, untainted bool
	vm, uuid, providerID, node string
	hostname                   string
	address                    []string
	initialized                bool
	labels                     map[string]string
	// byHand is the reason that no kubelet can register the Node, or empty.
	byHand string
}

// notByKubelet are the reasons that no kubelet registers a Node with these options here.
var notByKubelet = map[string]string{
	"untainted":    "without --cloud-provider=external, a kubelet reports an address of this host",
	"node-ip=":     "a kubelet rejects an address that is on no interface of this host",
	"hostname=":    "a kubelet uses the Node's name",
	"address=":     "another cloud provider wrote the Node",
	"initialized=": "another cloud provider wrote the Node",
}

func createNodes(a *arguments) action {
	k := kubelet{labels: map[string]string{}}
	var names []string
	options := map[string]*string{"vm": &k.vm, "uuid": &k.uuid, "provider-id": &k.providerID, "node-ip": &k.node, "hostname": &k.hostname}
	for _, word := range a.rest() {
		key, value, assigned := strings.Cut(word, "=")
		switch {
		case word == "by-kubelet":
			k.isReal = true
			a.p.hasKubelets = true
		case word == "swapped":
			k.swapped = true
		case word == "untainted":
			k.untainted = true
		case assigned && key == "label":
			label, labelValue, ok := strings.Cut(value, "=")
			if !ok {
				a.fail("label= must have the form label=KEY=VALUE")
			}
			k.labels[label] = labelValue
		case assigned && key == "address" && value != "":
			k.address = strings.Split(value, ",")
		case assigned && key == "initialized":
			k.initializedAs(a, value)
		case assigned && options[key] != nil && value != "":
			*options[key] = a.sized(value)
		case assigned:
			a.fail("unknown option %q", word)
		default:
			names = append(names, word)
		}
		option := word[:len(word)-len(value)]
		if why := notByKubelet[option]; why != "" {
			k.byHand = option + ": " + why
		}
	}
	if len(names) == 0 {
		a.fail("NODE is missing")
	}
	if k.isReal && k.byHand != "" {
		a.fail("no kubelet registers such a Node: %s", k.byHand)
	}
	a.p.byHand = cmp.Or(a.p.byHand, k.byHand)
	return func(ctx context.Context, w *world) error {
		for _, name := range names {
			if err := w.create(ctx, name, k); err != nil {
				return err
			}
		}
		return nil
	}
}

// initializedAs gives the Node the state after initialization by the vSphere CPI or, without an instance type, by the
// in-tree provider. Region, zone and instance type also have beta labels.
func (k *kubelet) initializedAs(a *arguments, value string) {
	parts := strings.Split(value, "/")
	if len(parts) != 3 || slices.Contains(parts, "") {
		a.fail("initialized= must have the form initialized=REGION/ZONE/TYPE")
		return
	}
	k.initialized = true
	k.untainted = true
	for i, keys := range [][]string{
		{v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion}, {v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone},
		{v1.LabelInstanceTypeStable, v1.LabelInstanceType},
	} {
		for _, key := range keys {
			if parts[i] != none {
				k.labels[key] = parts[i]
			}
		}
	}
}

// sized expands size:N at the end of a value to N letters.
func (a *arguments) sized(value string) string {
	prefix, size, ok := strings.Cut(value, "size:")
	if !ok {
		return value
	}
	a.p.byHand = cmp.Or(a.p.byHand, "size: the value may be too long for a flag")
	n, err := bytesIn(size)
	if err != nil {
		a.fail("%v", err)
	}
	return prefix + strings.Repeat("x", n)
}

// bytesIn parses a size such as 300, 4kB or 1MB.
func bytesIn(size string) (int, error) {
	digits := size
	factor := 1
	for unit, bytes := range map[string]int{"kB": 1000, "MB": 1000 * 1000} {
		if n, ok := strings.CutSuffix(size, unit); ok {
			digits = n
			factor = bytes
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of bytes such as 300, 4kB or 1MB", size)
	}
	return n * factor, nil
}

// create registers a Node, or one for each VM that matches a pattern.
func (w *world) create(ctx context.Context, name string, k kubelet) error {
	switch {
	case k.uuid != "" && k.uuid != none:
		return w.register(ctx, k, k.spec(name, fleet.VM{UUID: k.uuid}), "")
	case k.vm != "":
		m, err := w.vmNamed(k.vm)
		if err != nil {
			return err
		}
		return w.register(ctx, k, k.spec(name, m), m.ProviderID())
	}
	vms, err := w.vmsNamed(name)
	for _, m := range vms {
		if err = w.register(ctx, k, k.spec(m.Name, m), m.ProviderID()); err != nil {
			break
		}
	}
	return err
}

func (k kubelet) spec(name string, m fleet.VM) cluster.NodeSpec {
	s := cluster.NodeSpec{Name: name, SystemUUID: m.UUID, ProviderID: k.providerID, ProvidedIP: k.node, Labels: k.labels}
	if k.swapped {
		s.SystemUUID = m.SwappedUUID()
	}
	if k.uuid == none {
		s.SystemUUID = ""
	}
	if k.initialized && s.ProviderID == "" {
		s.ProviderID = m.ProviderID()
	}
	return s
}

func (w *world) register(ctx context.Context, k kubelet, spec cluster.NodeSpec, providerID string) error {
	n := &registration{name: spec.Name, providerID: providerID, vmsNamed: w.vmsNamed}
	if k.isReal || w.stack.HasNodeLifecycle {
		n.kubelet = &kubeletProcess{options: stack.KubeletOptions{
			Node: spec.Name, SystemUUID: spec.SystemUUID, ProviderID: spec.ProviderID, Labels: maps.Clone(spec.Labels),
		}}
		if former := w.nodes[spec.Name]; former != nil && former.kubelet != nil {
			n.kubelet.process = former.kubelet.process
		}
		w.nodes[spec.Name] = n
		return w.boot(ctx, n)
	}
	node := spec.Node()
	if k.untainted {
		node.Spec.Taints = nil
	}
	node.Status.Addresses = k.addresses(node.Status.Addresses)
	node, err := w.stack.Cluster.CreateNode(ctx, node)
	if err != nil {
		return err
	}
	n.uid = node.UID
	n.made = node
	w.nodes[spec.Name] = n
	return w.awaitNode(ctx, spec.Name, node.UID)
}

// addresses adds the addresses of address= and the Hostname of hostname= to the kubelet's own addresses. With --node-ip
// the framework lists its own addresses first.
func (k kubelet) addresses(reported []v1.NodeAddress) []v1.NodeAddress {
	if k.hostname != "" {
		reported = slices.DeleteFunc(reported, func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName })
		reported = append(reported, v1.NodeAddress{Type: v1.NodeHostName, Address: k.hostname})
	}
	var given []v1.NodeAddress
	for _, address := range k.address {
		given = append(given, v1.NodeAddress{Type: v1.NodeInternalIP, Address: address}, v1.NodeAddress{Type: v1.NodeExternalIP, Address: address})
	}
	if !k.initialized || k.node == "" {
		return append(reported, given...)
	}
	return append(given, slices.DeleteFunc(reported, func(a v1.NodeAddress) bool { return slices.Contains(given, a) })...)
}

func patchNode(field string) func(*arguments) action {
	return func(a *arguments) action {
		node := a.word("NODE")
		key, value := a.keyAndValue()
		return onNodes([]string{node}, func(ctx context.Context, w *world, name string) error {
			filled, err := w.fill(value)
			if err != nil {
				return err
			}
			set := map[string]any{key: filled}
			if value == none {
				set[key] = nil
			}
			return w.patch(ctx, name, map[string]any{"metadata": map[string]any{field: set}})
		})
	}
}

func (w *world) patch(ctx context.Context, name string, change map[string]any, subresources ...string) error {
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = w.stack.Client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	return err
}
