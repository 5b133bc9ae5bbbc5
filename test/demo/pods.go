package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"vzones/test/cluster"
)

const pods = 12

func (d *demo) schedule(ctx context.Context) error {
	if err := d.buildScheduler(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d.step("Creating %d Pods with a topology-spread constraint on zones; kube-scheduler places them", pods)
	if err := d.stack.Cluster.StartScheduler(ctx); err != nil {
		return err
	}
	placed, err := d.stack.SpreadPods(ctx, pods)
	if err != nil {
		return err
	}
	perZone, err := d.stack.PodsPerZone(ctx, placed)
	if err != nil {
		return err
	}
	d.print("")
	least := pods
	largest := 0
	for _, zone := range slices.Sorted(maps.Keys(perZone)) {
		n := perZone[zone]
		d.print("          zone %-8s %d Pods  %s", zone, n, strings.Repeat("#", n))
		least = min(least, n)
		largest = max(largest, n)
	}
	zones := 0
	for _, v := range d.stack.Fleet.VCenters() {
		zones += len(v.VMs()) / 4
	}
	if len(perZone) != zones || largest-least > 1 {
		return fmt.Errorf("the Pods are not spread over %d zones with a skew of at most 1", zones)
	}
	return nil
}

// buildScheduler builds kube-scheduler. The first time it takes a minute or two, so it runs after the Nodes
// are labeled.
func (d *demo) buildScheduler(ctx context.Context) error {
	if _, err := cluster.Find(cluster.Scheduler); !errors.Is(err, cluster.ErrNoBinaries) {
		return err
	}
	d.step("Building kube-scheduler, needed only for the rest of the demo")
	cmd := exec.CommandContext(ctx, "make", "bin/controlplane/"+cluster.Scheduler)
	cmd.Stdout = d.out
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
