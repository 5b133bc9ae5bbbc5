package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"vzones/cmd/vzones/cli"
	"vzones/internal/quote"
)

// isNodeState reports whether a taint is for a state of a Node, such as not ready. Pods of a DaemonSet tolerate these taints.
func isNodeState(t *v1.Taint) bool {
	domain, _, _ := strings.Cut(t.Key, "/")
	return domain == "node.kubernetes.io"
}

// whyNoNode returns the reason that the Pods of a DaemonSet run on no Node, with advice.
func whyNoNode(spec *v1.PodSpec, nodes nodeList) string {
	required := nodeaffinity.GetRequiredNodeAffinity(&v1.Pod{Spec: *spec})
	var matching []*v1.Node
	for _, n := range nodes {
		if fits, err := required.Match(n.Node); err == nil && fits {
			matching = append(matching, n.Node)
		}
	}
	switch {
	case len(nodes) == 0:
		return "no Pod is scheduled: check its node selector and affinity"
	case len(matching) == 0:
		requirements, keys := nodeRequirements(spec)
		return fmt.Sprintf("no Node has the labels that its Pods require: %s; the Pods require %s: correct the node selector or affinity, or label the control-plane Nodes",
			labelsOf(nodes, keys), strings.Join(requirements, " or "))
	}
	taints := map[string]int{}
	for _, n := range matching {
		taint, untolerated := helpers.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, spec.Tolerations, func(t *v1.Taint) bool {
			return t.Effect != v1.TaintEffectPreferNoSchedule && !isNodeState(t)
		}, false)
		if untolerated {
			taints[taint.ToString()]++
		}
	}
	if len(taints) == 0 {
		return fmt.Sprintf("no Pod was created, although %s suitable: check that kube-controller-manager runs", areNodes(len(matching)))
	}
	var texts []string
	for _, taint := range slices.Sorted(maps.Keys(taints)) {
		texts = append(texts, quote.Text(taint))
	}
	return fmt.Sprintf("its Pods do not tolerate the taints of the %s with its labels: %s: add tolerations", cli.Count(len(matching), "Node"), quote.Some(texts, quote.Most))
}

func areNodes(n int) string {
	if n == 1 {
		return "1 Node is"
	}
	return cli.Count(n, "Node") + " are"
}

// nodeRequirements returns the alternatives of the required labels of Nodes, and the keys of these labels.
func nodeRequirements(spec *v1.PodSpec) (alternatives, keys []string) {
	var selector []string
	for _, key := range slices.Sorted(maps.Keys(spec.NodeSelector)) {
		selector = append(selector, key+"="+quote.Value(spec.NodeSelector[key]))
		keys = append(keys, key)
	}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil && spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			all := slices.Clone(selector)
			for _, r := range term.MatchExpressions {
				all = append(all, requirementText(&r))
				keys = append(keys, r.Key)
			}
			alternatives = append(alternatives, strings.Join(all, " and "))
		}
	}
	if len(alternatives) == 0 {
		alternatives = []string{strings.Join(selector, " and ")}
	}
	slices.Sort(keys)
	return alternatives, slices.Compact(keys)
}

func requirementText(r *v1.NodeSelectorRequirement) string {
	switch {
	case r.Operator == v1.NodeSelectorOpExists:
		return r.Key
	case r.Operator == v1.NodeSelectorOpDoesNotExist:
		return "no " + r.Key
	case r.Operator == v1.NodeSelectorOpIn && len(r.Values) == 1:
		return r.Key + "=" + quote.Value(r.Values[0])
	}
	return fmt.Sprintf("%s %s (%s)", r.Key, r.Operator, strings.Join(r.Values, ", "))
}

// labelsOf lists how many Nodes have each value of the labels, or that no Node has the label.
func labelsOf(nodes nodeList, keys []string) string {
	var texts []string
	for _, key := range keys {
		counts := map[string]int{}
		for _, n := range nodes {
			if value, has := n.Node.Labels[key]; has {
				counts[value]++
			}
		}
		if len(counts) == 0 {
			texts = append(texts, "no Node has "+key)
		}
		for _, value := range slices.Sorted(maps.Keys(counts)) {
			verb := "have"
			if counts[value] == 1 {
				verb = "has"
			}
			texts = append(texts, fmt.Sprintf("%s %s %s=%s", cli.Count(counts[value], "Node"), verb, key, quote.Value(value)))
		}
	}
	return quote.Some(texts, quote.Most)
}
