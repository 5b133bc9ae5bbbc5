package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/test/stack"
)

func (d *demo) waitForNodes(ctx context.Context, daemon *stack.Daemon) (map[string]*v1.Node, error) {
	d.step("Waiting for the Nodes")
	total := len(d.stack.Fleet.VMs())
	done := map[string]*v1.Node{}
	shown := 0
	err := d.stack.Watch(ctx, "all Nodes are initialized", func(nodes []*v1.Node) bool {
		for _, n := range nodes {
			if stack.Initialized(n) && len(n.Status.Addresses) > 1 {
				done[n.Name] = n
			}
		}
		if len(done) == total || len(done)-shown >= total/6 {
			shown = len(done)
			d.print("          %6.2f s after the daemon's start: %2d of %d Nodes initialized", time.Since(daemon.Started).Seconds(), shown, total)
		}
		return shown == total
	})
	return done, err
}

func (d *demo) table(nodes map[string]*v1.Node) error {
	d.step("What the Nodes got:")
	d.print("")
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tVCENTER\tDATACENTER\tREGION\tZONE\tPROVIDER ID\tADDRESSES")
	var wrong []string
	for _, m := range d.stack.Fleet.VMs() {
		n := nodes[m.Name]
		region := n.Labels[v1.LabelTopologyRegion]
		zone := n.Labels[v1.LabelTopologyZone]
		var addresses []string
		for _, a := range n.Status.Addresses {
			addresses = append(addresses, string(a.Type)+"="+a.Address)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, m.VCenter, m.Datacenter, region, zone, n.Spec.ProviderID, strings.Join(addresses, " "))
		wantZone := m.VCenter + strings.TrimPrefix(strings.TrimPrefix(m.Datacenter, "/"), "dc")
		ok := region == m.VCenter && zone == wantZone && n.Spec.ProviderID == m.ProviderID() &&
			n.Labels[v1.LabelInstanceTypeStable] != "" &&
			slices.Contains(addresses, "InternalIP="+m.IPs[0]) && slices.Contains(addresses, "Hostname="+m.HostName)
		if !ok {
			wrong = append(wrong, n.Name)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("these Nodes did not get what they should: %v", wrong)
	}
	d.print("")
	for _, v := range d.stack.Fleet.VCenters() {
		d.print("vCenter %-6s received %d requests for its %d Nodes", v.Name(), v.Total(), len(v.VMs()))
	}
	return nil
}
