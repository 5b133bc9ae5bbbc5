package audit

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/finding"
	"vzones/topology"
	"vzones/topology/quote"
)

// pods compares Pods with the places of their Nodes.
type pods struct {
	ps        *places
	selectors *selectors
	volumes   volumes
	spread    *spread
	findings  *findings
}

// audit compares one Pod. One that has ended, or is about to, says nothing.
func (a *pods) audit(pod *v1.Pod) {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return
	}
	required := a.selectors.ofPod(pod)
	if pod.Spec.NodeName == "" {
		a.auditPending(pod, required)
		return
	}
	p := a.ps.byName[pod.Spec.NodeName]
	if p == nil {
		return
	}
	a.spread.add(pod, p)
	if !p.known {
		return
	}
	a.auditLabels(pod, p)
	a.volumes.auditUse(a.findings, pod, p)
	for _, sel := range required {
		if !sel.Match(p.as()) {
			s := ofPod(pod, p, fmt.Sprintf("it requires %s, and Node %s is not there", sel.text, p.node.Name))
			s.Command = deletePod(pod)
			a.findings.add(finding.PodOutside, s)
		}
	}
}

// auditPending says of a Pod that waits for a Node whether there is any in its zone.
func (a *pods) auditPending(pod *v1.Pod, required []*selector) {
	for _, sel := range required {
		if !a.selectors.existsOwn(sel) {
			a.findings.add(finding.PodUnschedulable, ofPod(pod, nil, fmt.Sprintf("it requires %s, and no Node has that", sel.text)))
		}
	}
}

// auditLabels compares the labels that the API server copied to a Pod when it was bound.
func (a *pods) auditLabels(pod *v1.Pod, p *place) {
	has, says := map[string]string{}, map[string]string{}
	var texts []string
	for _, label := range [...]string{topology.LabelRegion, topology.LabelZone} {
		have, there := pod.Labels[label]
		if want, ok := p.says(label); there && ok && have != want {
			has[label], says[label] = have, want
			texts = append(texts, fmt.Sprintf("%s is %s, vSphere says %s of Node %s", label, quote.Value(have), quote.Value(want), p.node.Name))
		}
	}
	if len(texts) == 0 {
		return
	}
	s := ofPod(pod, p, strings.Join(texts, "; "))
	s.Has, s.VSphere = has, says
	if p.differs(topology.LabelZone) || p.differs(topology.LabelRegion) {
		s.Advice = "Correct the Node's labels, then replace the Pod through its controller."
	} else {
		s.Command = deletePod(pod)
	}
	a.findings.add(finding.PodLabelStale, s)
}
