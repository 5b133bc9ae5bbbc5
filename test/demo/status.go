package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"vzones/test/stack"
)

const lastEvents = 20

// status shows the Nodes and recent Events of vzones and of deletions, for readers without kubectl.
func (c *console) status(ctx context.Context, _ []string) (string, error) {
	nodes, err := c.stack.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	events, err := c.stack.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	return nodeTable(nodes.Items) + "\n" + eventTable(events.Items), nil
}

func nodeTable(nodes []v1.Node) string {
	slices.SortFunc(nodes, func(x, y v1.Node) int { return cmp.Compare(x.Name, y.Name) })
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tREADY\tREGION\tZONE\tTAINTS")
	waiting := 0
	for i := range nodes {
		n := &nodes[i]
		var ready v1.ConditionStatus
		for _, condition := range n.Status.Conditions {
			if condition.Type == v1.NodeReady {
				ready = condition.Status
			}
		}
		var taints []string
		for _, taint := range n.Spec.Taints {
			taints = append(taints, taint.Key+":"+string(taint.Effect))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", n.Name, ready,
			orNone(n.Labels[v1.LabelTopologyRegion]), orNone(n.Labels[v1.LabelTopologyZone]), orNone(strings.Join(taints, " ")))
		if !stack.Initialized(n) {
			waiting++
		}
	}
	_ = t.Flush()
	fmt.Fprintf(&b, "%d Nodes, %d of them not initialized\n", len(nodes), waiting)
	return b.String()
}

func orNone(text string) string { return cmp.Or(text, "<none>") }

func eventTable(events []v1.Event) string {
	events = slices.DeleteFunc(events, func(e v1.Event) bool {
		return e.Source.Component != "vzones" && !strings.HasPrefix(e.Reason, "DeletingNode")
	})
	if len(events) == 0 {
		return "vzones has recorded no Event."
	}
	slices.SortStableFunc(events, func(x, y v1.Event) int { return x.LastTimestamp.Compare(y.LastTimestamp.Time) })
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGO\tTYPE\tREASON\tOBJECT\tMESSAGE")
	for _, e := range events[max(0, len(events)-lastEvents):] {
		ago := duration.HumanDuration(time.Since(e.LastTimestamp.Time))
		fmt.Fprintf(t, "%s\t%s\t%s\t%s/%s\t%s\n", ago, e.Type, e.Reason, strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Message)
	}
	_ = t.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
