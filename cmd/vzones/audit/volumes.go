package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/cmd/vzones/finding"
	"vzones/topology/quote"
)

// A volume is a bound PersistentVolume that is tied to a place.
type volume struct {
	name string
	*selector
}

// volumes are those that Pods may use, by claim. One with a finding of its own is not among them.
type volumes map[types.NamespacedName]volume

// audit compares the node affinity of a PersistentVolume with the Nodes.
func (vs volumes) audit(f *findings, all *selectors, pv *v1.PersistentVolume) {
	if pv.Spec.NodeAffinity == nil || pv.DeletionTimestamp != nil {
		return
	}
	if pv.Status.Phase == v1.VolumeReleased || pv.Status.Phase == v1.VolumeFailed {
		return // kept after its claim was deleted: no Pod can use it
	}
	sel := all.of(pv.Spec.NodeAffinity.Required)
	if sel == nil {
		return
	}
	s := Stale{Ref: Ref{Kind: "PersistentVolume", Name: pv.Name}}
	s.at(pv.CreationTimestamp.Time)
	claim := ""
	if c := pv.Spec.ClaimRef; c != nil {
		claim = fmt.Sprintf(" (claim %s/%s)", quote.Plain(c.Namespace), quote.Plain(c.Name))
	}
	switch {
	case !all.existsOwn(sel):
		s.Text = fmt.Sprintf("no Node has %s%s", sel.text, claim)
		f.add(finding.VolumeWithoutNode, s)
	case !all.existsNow(sel):
		s.Text = fmt.Sprintf("only Nodes whose labels are stale have %s%s", sel.text, claim)
		f.add(finding.VolumeZoneStale, s)
	case pv.Spec.ClaimRef != nil && pv.Status.Phase == v1.VolumeBound:
		vs[types.NamespacedName{Namespace: pv.Spec.ClaimRef.Namespace, Name: pv.Spec.ClaimRef.Name}] = volume{pv.Name, sel}
	}
}

// auditUse compares the volumes of a Pod with where its Node is.
func (vs volumes) auditUse(f *findings, pod *v1.Pod, p *place) {
	if len(vs) == 0 || !p.known {
		return
	}
	var texts []string
	for i := range pod.Spec.Volumes {
		name := ""
		switch of := &pod.Spec.Volumes[i]; {
		case of.PersistentVolumeClaim != nil:
			name = of.PersistentVolumeClaim.ClaimName
		case of.Ephemeral != nil:
			name = pod.Name + "-" + of.Name
		}
		used, ok := vs[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		if name != "" && ok && !used.Match(p.as()) {
			texts = append(texts, fmt.Sprintf("PersistentVolume %s is in %s, and Node %s is not", used.name, used.text, p.node.Name))
		}
	}
	if len(texts) > 0 {
		s := ofPod(pod, p, strings.Join(texts, "; "))
		s.Command = deletePod(pod)
		f.add(finding.VolumeZoneOther, s)
	}
}

// ofPod returns a finding about a Pod on a Node.
func ofPod(pod *v1.Pod, p *place, text string) Stale {
	s := Stale{Ref: Ref{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name}}
	s.Text = text
	if p != nil {
		s.Node, s.VCenter = p.node.Name, p.vcenter()
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue {
			s.at(c.LastTransitionTime.Time)
		}
	}
	if s.Written.IsZero() {
		s.at(pod.CreationTimestamp.Time)
	}
	return s
}

// deletePod returns the command that replaces a Pod, empty for one that nobody would make again.
func deletePod(pod *v1.Pod) string {
	for _, o := range pod.OwnerReferences {
		if o.Controller != nil && *o.Controller && o.Kind != "Node" {
			return fmt.Sprintf("kubectl delete pod -n %s %s", pod.Namespace, pod.Name)
		}
	}
	return ""
}

// auditClass compares the zones that a StorageClass allows with those of the Nodes.
func (f *findings) auditClass(ps *places, class *storagev1.StorageClass) {
	fits := func(labels map[string]string, term *v1.TopologySelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchLabelExpressions, func(r v1.TopologySelectorLabelRequirement) bool {
			value, there := labels[r.Key]
			return ps.isTopology(r.Key) && (!there || !slices.Contains(r.Values, value))
		})
	}
	gone := map[string]bool{}
	possible, tied := false, false
	for i := range class.AllowedTopologies {
		term := &class.AllowedTopologies[i]
		possible = possible || slices.ContainsFunc(ps.all, func(p *place) bool { return fits(p.node.Labels, term) })
		for _, r := range term.MatchLabelExpressions {
			if !ps.isTopology(r.Key) {
				continue
			}
			tied = true
			for _, value := range r.Values {
				if !slices.ContainsFunc(ps.all, func(p *place) bool { return p.labels[r.Key] == value }) {
					gone[r.Key+"="+quote.Plain(value)] = true
				}
			}
		}
	}
	s := Stale{Ref: Ref{Kind: "StorageClass", Name: class.Name}}
	s.at(class.CreationTimestamp.Time)
	zones := strings.Join(slices.Sorted(maps.Keys(gone)), ", ")
	switch {
	case !tied:
	case !possible && zones == "":
		s.Text = "no Node has the labels of one of its allowedTopologies together"
		f.add(finding.ClassZoneGone, s)
	case !possible:
		s.Text = "no Node has " + zones
		f.add(finding.ClassZoneGone, s)
	case zones != "":
		s.Text = "no Node is in " + zones
		f.add(finding.ClassZoneUnknown, s)
	}
}
