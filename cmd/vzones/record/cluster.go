package record

import (
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/config"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
)

// keptLabels are Node labels whose key is kept. Of all other labels only those in the configuration are recorded.
var keptLabels = slices.Concat(
	plan.LabelKeys(topology.LabelRegion), plan.LabelKeys(topology.LabelZone), plan.LabelKeys(plan.LabelInstanceType),
	[]string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", nodeinfo.KeyInitialized},
)

// instanceType matches values of the vSphere CPI and vzones.
var instanceType = regexp.MustCompile(`^vsphere-vm\.cpu-\d+\.mem-\d+gb\.os-[A-Za-z0-9]{1,24}$`)

const csiLabels = "topology.csi.vmware.com/"

func (n *names) labelKey(key string) string {
	if rest, ok := strings.CutPrefix(key, csiLabels); ok {
		return csiLabels + n.text(rest)
	}
	if slices.Contains(keptLabels, key) {
		return key
	}
	return n.text(key)
}

func (n *names) labelValue(value string) string {
	if instanceType.MatchString(value) {
		return value
	}
	return n.text(value)
}

// node returns the parts of a Node that the daemon uses. further are the labels in the configuration.
func (n *names) node(from *v1.Node, further []string) v1.Node {
	to := v1.Node{}
	to.Name = n.text(from.Name)
	to.UID = types.UID(to.Name)
	to.CreationTimestamp = from.CreationTimestamp
	to.Labels = map[string]string{}
	for key, value := range from.Labels {
		if slices.Contains(keptLabels, key) || slices.Contains(further, key) || strings.HasPrefix(key, csiLabels) {
			to.Labels[n.labelKey(key)] = n.labelValue(value)
		}
	}
	to.Annotations = n.annotations(from.Annotations)
	if nodeinfo.HasCSIDriver(from) {
		to.Annotations["csi.volume.kubernetes.io/nodeid"] = fmt.Sprintf("{%q:%q}", topology.CSIDriver, to.Name)
	}
	if id := from.Spec.ProviderID; id != "" {
		scheme, rest, _ := strings.Cut(id, "://")
		if nodeinfo.IsOtherProviders(id) {
			scheme = n.text(scheme)
		}
		to.Spec.ProviderID = scheme + "://" + n.text(rest)
	}
	for _, t := range from.Spec.Taints {
		if t.Key == cloudproviderapi.TaintExternalCloudProvider || t.Key == nodeinfo.DriftTaint {
			to.Spec.Taints = append(to.Spec.Taints, v1.Taint{Key: t.Key, Effect: v1.TaintEffectNoSchedule})
		} else if nodeinfo.IsVMGone(t) {
			to.Spec.Taints = append(to.Spec.Taints, t)
		}
	}
	to.Status.NodeInfo.SystemUUID = n.text(from.Status.NodeInfo.SystemUUID)
	for _, a := range from.Status.Addresses {
		if slices.Contains(addressTypes, a.Type) {
			to.Status.Addresses = append(to.Status.Addresses, v1.NodeAddress{Type: a.Type, Address: n.text(a.Address)})
		}
	}
	for _, c := range from.Status.Conditions {
		if c.Type == v1.NodeReady || c.Type == nodeinfo.TopologyReady {
			to.Status.Conditions = append(to.Status.Conditions, v1.NodeCondition{Type: c.Type, Status: conditionStatus(c.Status)})
		}
	}
	return to
}

var addressTypes = []v1.NodeAddressType{v1.NodeInternalIP, v1.NodeExternalIP, v1.NodeHostName, v1.NodeInternalDNS, v1.NodeExternalDNS}

func conditionStatus(s v1.ConditionStatus) v1.ConditionStatus {
	if s == v1.ConditionTrue || s == v1.ConditionFalse {
		return s
	}
	return v1.ConditionUnknown
}

// annotations returns the annotations of vzones and the address of --node-ip.
func (n *names) annotations(from map[string]string) map[string]string {
	to := map[string]string{}
	set := func(key, value string) {
		if from[key] != "" {
			to[key] = value
		}
	}
	if location := nodeinfo.ParseLocation(from[nodeinfo.KeyVM]); location.ID != "" {
		to[nodeinfo.KeyVM] = n.text(location.VCenter) + "/" + location.ID
	}
	for _, key := range []string{nodeinfo.KeyVCenter, nodeinfo.KeyInstanceUUID, cloudproviderapi.AnnotationAlphaProvidedIPAddr} {
		set(key, n.text(from[key]))
	}
	var keys []string
	for key := range strings.SplitSeq(from[nodeinfo.KeyLabels], ",") {
		keys = append(keys, n.labelKey(key))
	}
	set(nodeinfo.KeyLabels, strings.Join(keys, ","))
	var former []string
	for address := range strings.SplitSeq(from[nodeinfo.KeyFormerAddresses], ",") {
		kind, ip, _ := strings.Cut(address, "=")
		if slices.Contains(addressTypes, v1.NodeAddressType(kind)) {
			former = append(former, kind+"="+n.text(ip))
		}
	}
	set(nodeinfo.KeyFormerAddresses, strings.Join(former, ","))
	return to
}

// furtherLabels returns the labels that the configuration names.
func furtherLabels(c *config.Config) []string {
	further := c.Topology.Policy.Labels()
	for key := range c.NodeLabels {
		further = append(further, key)
	}
	requirements, _ := c.NodeSelector.Requirements()
	for _, r := range requirements {
		further = append(further, r.Key())
	}
	return further
}

// config returns the rules of a configuration and the names of its vCenters, without servers and credentials.
func (n *names) config(c *config.Config) map[string]any {
	entries := map[string]any{}
	for i := range c.VCenters {
		entry := map[string]any{}
		if vc := &c.VCenters[i]; len(vc.Datacenters) > 0 {
			entry["datacenters"] = n.datacenters(vc.Datacenters)
		}
		entry["ipFamily"] = c.VCenters[i].IPFamilies
		entries[n.text(c.VCenters[i].Name)] = entry
	}
	sources := map[string]any{}
	levels := []any{}
	for _, r := range slices.Concat(c.Topology.Policy.Rules, c.Topology.Policy.Levels) {
		switch rule := n.rule(&r); r.Label {
		case topology.LabelRegion:
			sources["region"] = rule
		case topology.LabelZone:
			sources["zone"] = rule
		default:
			rule["label"] = n.labelKey(r.Label)
			rule["nested"] = r.Nested
			levels = append(levels, rule)
		}
	}
	top := n.fields(config.SectionTopology, c)
	top["levels"] = levels
	return map[string]any{"vcenter": entries, "labels": sources, "topology": top, "nodes": n.fields(config.SectionNodes, c)}
}

var datacenterID = regexp.MustCompile(`^datacenter-\d+$`)

func (n *names) datacenters(all []string) []string {
	replaced := n.texts(all)
	for i, d := range all {
		if datacenterID.MatchString(d) {
			replaced[i] = d
		}
	}
	return replaced
}

func (n *names) rule(r *topology.Rule) map[string]any {
	rule := map[string]any{"required": r.Required}
	for key, value := range map[string]string{"tag": n.text(r.Category), "inventory": string(r.Inventory), "hostGroup": n.text(r.HostGroup), "value": n.template(r)} {
		if value != "" {
			rule[key] = value
		}
	}
	return rule
}

func (n *names) template(r *topology.Rule) string {
	var b strings.Builder
	for _, part := range r.Value {
		if part.Own {
			part = topology.Part{Label: r.Label}
		}
		part.Text = n.text(part.Text)
		part.Category = n.text(part.Category)
		if part.Label != "" {
			part.Label = n.labelKey(part.Label)
		}
		b.WriteString(part.String())
	}
	return b.String()
}

// fields returns the settings of a section that differ from their defaults.
func (n *names) fields(section config.Section, c *config.Config) map[string]any {
	set := map[string]any{}
	for _, f := range config.FieldsOf(section) {
		if f.Ref == nil {
			continue
		}
		value := reflect.ValueOf(f.Ref(c, nil)).Elem()
		if value.IsZero() && f.Default == nil || value.Kind() == reflect.Slice && value.Len() == 0 {
			continue
		}
		if written := n.setting(value.Interface()); written != nil && !reflect.DeepEqual(written, f.Default) {
			set[f.Key] = written
		}
	}
	return set
}

func (n *names) setting(value any) any {
	switch v := value.(type) {
	case bool:
		return v
	case time.Duration:
		return v.String()
	case topology.Precedence:
		return string(v)
	case config.Drift:
		return string(v)
	case []topology.PathKind:
		words := make([]string, len(v))
		for i, kind := range v {
			words[i] = config.PathWords[slices.Index(topology.DefaultPaths(), kind)]
		}
		return words
	case []netip.Prefix:
		words := make([]string, len(v))
		for i, p := range v {
			words[i] = n.text(p.String())
		}
		return strings.Join(words, ",")
	case string:
		return n.text(v)
	case []string:
		return n.texts(v)
	case map[string]string:
		replaced := map[string]string{}
		for key, text := range v {
			replaced[n.labelKey(key)] = n.labelValue(text)
		}
		return replaced
	case labels.Selector:
		return n.selector(v)
	}
	return nil
}

func (n *names) selector(s labels.Selector) any {
	replaced := labels.NewSelector()
	requirements, _ := s.Requirements()
	for _, r := range requirements {
		to, err := labels.NewRequirement(n.labelKey(r.Key()), r.Operator(), n.texts(r.ValuesUnsorted()))
		if err != nil {
			return nil // The replacement is valid if the original is.
		}
		replaced = replaced.Add(*to)
	}
	if replaced.Empty() {
		return nil
	}
	return replaced.String()
}
