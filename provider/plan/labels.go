package plan

import (
	"bytes"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/config"
	"vzones/provider/placement"
	"vzones/topology"
)

// LabelInstanceType is the label of a Node's instance type.
const LabelInstanceType = v1.LabelInstanceTypeStable

// LabelKeys returns the keys that carry a label: first the beta key, if any, since the framework copies its value to the
// stable key.
func LabelKeys(label string) []string {
	switch label {
	case topology.LabelRegion:
		return []string{v1.LabelFailureDomainBetaRegion, label}
	case topology.LabelZone:
		return []string{v1.LabelFailureDomainBetaZone, label}
	case LabelInstanceType:
		return []string{v1.LabelInstanceType, label}
	}
	return []string{label}
}

// IsRegionOrZone reports whether a label has the key of a region or zone, stable or beta.
func IsRegionOrZone(label string) bool {
	switch label {
	case topology.LabelRegion, topology.LabelZone, v1.LabelFailureDomainBetaRegion, v1.LabelFailureDomainBetaZone:
		return true
	}
	return false
}

// kubelet is the field manager of kubelets.
const kubelet = "kubelet"

// KubeletFields returns replacement managed fields for a cached Node: the minimum by which isFromKubelet recognizes region
// and zone labels.
func KubeletFields(node *v1.Node) (fields []metav1.ManagedFieldsEntry) {
	for _, label := range []string{topology.LabelRegion, topology.LabelZone} {
		for _, key := range LabelKeys(label) {
			if isFromKubelet(node, key) {
				fields = append(fields, metav1.ManagedFieldsEntry{Manager: kubelet, FieldsV1: metav1.NewFieldsV1(`{"f:` + key + `":{}}`)})
			}
		}
	}
	return fields
}

// isFromKubelet reports whether the kubelet was the last to change a label.
func isFromKubelet(node *v1.Node, key string) bool {
	return slices.ContainsFunc(node.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == kubelet && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:`+key+`"`))
	})
}

// FirstUnwritten returns the first key that is missing on a Node or differs from its placement, or "".
func FirstUnwritten(node *v1.Node, placed topology.Placement) string {
	for _, d := range placed.Decisions {
		for _, key := range LabelKeys(d.Label) {
			if value, exists := node.Labels[key]; !exists || value != d.Value {
				return key
			}
		}
	}
	return ""
}

// instanceTypePrefix is the prefix of the instance types from vzones and the vSphere CPI. Other types are kept.
const instanceTypePrefix = "vsphere-vm."

// planInstanceType adds the write of a missing or changed instance type. A difference never taints the Node.
func (p *Policy) planInstanceType(out *Plan, node *v1.Node, decision *placement.Decision, previous []Timed, now time.Time) {
	d, differs := compareType(node, decision)
	switch {
	case !differs:
		return
	case d.Missing:
		if p.Backfill {
			out.write(ActionBackfill, d)
		}
		return
	}
	since := beganAt(d, previous, now)
	out.Resized = []Timed{{d, since}}
	end := since.Add(p.Settle)
	switch {
	case end.After(now):
		out.limitDue(end)
	case p.Drift == config.DriftUpdate:
		out.write(ActionUpdate, d)
	}
}

// compareType returns the difference of the instance type, and whether there is one. There is none if the VM's type is
// unknown, or a key has another component's type. A Node with FormerType does not differ either.
func compareType(node *v1.Node, decision *placement.Decision) (Difference, bool) {
	if decision.VM == nil || decision.InstanceType == "" {
		return Difference{}, false
	}
	d := Difference{
		Label: LabelInstanceType, Want: decision.InstanceType,
		Source: "the configuration of " + decision.VM.Ref.Located(decision.VM.InventoryPath),
	}
	present := 0
	differs := false
	hasFormer := false
	keys := LabelKeys(LabelInstanceType)
	for _, key := range keys {
		have, ok := node.Labels[key]
		if !ok {
			continue
		}
		present++
		if !strings.HasPrefix(have, instanceTypePrefix) {
			return Difference{}, false
		}
		switch {
		case have == d.Want || differs:
		case have == decision.FormerType:
			hasFormer = true
		default:
			d.Have = have
			differs = true
		}
	}
	if hasFormer && !differs {
		// A missing key gets the former name too, so that both keys are equal.
		d.Want = decision.FormerType
	}
	d.Missing = !differs && present < len(keys)
	return d, differs || d.Missing
}
