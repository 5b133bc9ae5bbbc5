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

	"vzones/provider/nodeinfo"
	"vzones/test/stack"
)

// lastEvents is how many Events status shows.
const lastEvents = 20

// status shows the Nodes, and the last Events of vzones and those of deletions.
func status(ctx context.Context, on *world, _ []string) (outcome, error) {
	nodes, err := on.stack.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return outcome{}, err
	}
	events, err := on.stack.Client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return outcome{}, err
	}
	var b strings.Builder
	on.writeNodes(&b, nodes.Items)
	b.WriteString("\n")
	writeEvents(&b, events.Items)
	return outcome{did: strings.TrimSuffix(b.String(), "\n")}, nil
}

func (w *world) writeNodes(b *strings.Builder, nodes []v1.Node) {
	slices.SortFunc(nodes, func(x, y v1.Node) int { return cmp.Compare(x.Name, y.Name) })
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tREADY\tREGION\tZONE\tMACHINE\tTAINTS, CONDITION, ANNOTATIONS")
	waiting := 0
	for i := range nodes {
		n := &nodes[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, ready(n), orNone(n.Labels[v1.LabelTopologyRegion]), orNone(n.Labels[v1.LabelTopologyZone]), orNone(w.machines(n)), orNone(marks(n)))
		if !stack.Initialized(n) {
			waiting++
		}
	}
	_ = t.Flush() // a builder takes everything
	fmt.Fprintf(b, "%d Nodes, %d of them not initialized\n", len(nodes), waiting)
}

func orNone(text string) string { return cmp.Or(text, "<none>") }

func ready(n *v1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return string(c.Status)
		}
	}
	return ""
}

// machines says where the machines with the UUID of a Node are, as the vCenters have it.
func (w *world) machines(n *v1.Node) string {
	var all []string
	for _, m := range w.stack.Fleet.Machines() {
		if uuid := n.Status.NodeInfo.SystemUUID; uuid == m.UUID || uuid == m.SwappedUUID() {
			all = append(all, m.VCenter+place(m))
		}
	}
	return strings.Join(all, " and ")
}

// marks are the taints of a Node, and what vzones has written beside the labels: not where
// its machine is, which each Node says.
func marks(n *v1.Node) string {
	var all []string
	for _, t := range n.Spec.Taints {
		all = append(all, t.Key+":"+string(t.Effect))
	}
	for _, c := range n.Status.Conditions {
		if strings.HasPrefix(string(c.Type), "vzones/") && c.Status != v1.ConditionTrue {
			all = append(all, fmt.Sprintf("%s=%s", c.Type, c.Status))
		}
	}
	for key, value := range n.Annotations {
		if strings.HasPrefix(key, "vzones/") && key != nodeinfo.KeyMachine && key != nodeinfo.KeyVCenter && key != nodeinfo.KeyInstanceUUID {
			all = append(all, key+"="+value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func writeEvents(b *strings.Builder, events []v1.Event) {
	events = slices.DeleteFunc(events, func(e v1.Event) bool {
		return e.Source.Component != "vzones" && !strings.HasPrefix(e.Reason, "DeletingNode")
	})
	slices.SortStableFunc(events, func(x, y v1.Event) int { return x.LastTimestamp.Compare(y.LastTimestamp.Time) })
	if len(events) == 0 {
		b.WriteString("vzones has recorded no Event.\n")
		return
	}
	if more := len(events) - lastEvents; more > 0 {
		events = events[more:]
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AGO\tTYPE\tREASON\tOBJECT\tMESSAGE")
	for i := range events {
		e := &events[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s/%s\t%s\n", duration.HumanDuration(time.Since(e.LastTimestamp.Time)), e.Type, e.Reason, strings.ToLower(e.InvolvedObject.Kind), e.InvolvedObject.Name, e.Message)
	}
	_ = t.Flush()
}
