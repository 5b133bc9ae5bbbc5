package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/cluster"
	"vzones/test/stack"
)

const patience = 2 * time.Minute

// judge replays recordings at once, and prints what differs.
func (r *replay) judge(ctx context.Context, set []*recording) error {
	if err := r.load(ctx, set); err != nil {
		return err
	}
	var vms []*vm
	for _, v := range set {
		vms = append(vms, v.vms(r.region, r.zone)...)
	}
	hasUnreadable := slices.ContainsFunc(set, func(v *recording) bool { return v.hasUnreadable })
	running, err := r.register(ctx, vms, hasUnreadable)
	if err != nil {
		return err
	}
	ready := 0
	for _, m := range running {
		if m.reason == "" {
			ready++
		}
	}
	config, err := r.stack.WriteConfig(fmt.Sprintf("labels: {region: %q, zone: %q}\n", r.region, r.zone))
	if err != nil {
		return err
	}
	for _, v := range r.stack.Fleet.VCenters() {
		v.ResetRequests()
	}
	daemon, err := r.stack.StartDaemon(r.daemon, config)
	if err != nil {
		return err
	}
	var took time.Duration
	requests := 0
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Whatever is missing at the end of the wait differs below.
	_ = r.stack.Watch(bounded, "each Node is initialized or has a reason", func(nodes []*v1.Node) bool {
		initialized, explained := 0, 0
		for _, n := range nodes {
			switch {
			case stack.Initialized(n) && len(n.Status.Addresses) > 1:
				initialized++
			case reasonOf(n) != "":
				explained++
			}
		}
		if initialized >= ready && took == 0 {
			took = time.Since(daemon.Started)
			for _, v := range r.stack.Fleet.VCenters() {
				requests += v.Total()
			}
		}
		return initialized+explained == len(running)
	})
	nodes, err := r.stack.Nodes(ctx)
	if err != nil {
		return err
	}
	var problems []string
	wrong := 0
	for _, m := range running {
		found := compare(m, nodes[m.node()])
		if len(found) > 0 {
			wrong++
		}
		for _, problem := range found {
			problems = append(problems, fmt.Sprintf("Node %s, VM %q: %s", m.node(), m.name, problem))
		}
	}
	isPredictable := !hasUnreadable && !slices.ContainsFunc(set, func(v *recording) bool { return v.hasOwnTags })
	found, findings, err := r.judgeTool(ctx, config, running, vms, isPredictable)
	if err != nil {
		return err
	}
	problems = append(problems, found...)
	if _, err := daemon.Stop(); err != nil {
		return fmt.Errorf("the daemon ended with %w\n%s", err, daemon.Log())
	}
	r.report(set, vms, running, ready, took, requests, wrong, problems, findings)
	return nil
}

// register creates a Node for each running VM, as its kubelet would, and completes its expected state.
func (r *replay) register(ctx context.Context, vms []*vm, hasUnreadable bool) (running []*vm, err error) {
	var specs []cluster.NodeSpec
	for _, m := range vms {
		if !m.on || m.template {
			continue
		}
		spec := cluster.NodeSpec{Name: m.node(), SystemUUID: m.uuid}
		if len(running)%3 == 2 {
			spec.SystemUUID = m.swapped()
		}
		running = append(running, m)
		specs = append(specs, spec)
	}
	if len(running) == 0 {
		return nil, errors.New("no VM runs")
	}
	if err := r.stack.Cluster.CreateNodes(ctx, specs); err != nil {
		return nil, err
	}
	created, err := r.stack.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	expect(running, created, hasUnreadable)
	return running, nil
}

func (r *replay) report(set []*recording, vms, running []*vm, ready int, took time.Duration, requests, wrong int, problems, findings []string) {
	names := make([]string, len(set))
	for i, v := range set {
		names[i] = v.dir[strings.LastIndex(v.dir, "/")+1:]
	}
	r.print("\n%s", strings.Join(names, ", "))
	r.print("  %d VMs, %d Nodes for those that run: %d of %d right", len(vms), len(running), len(running)-wrong, len(running))
	if ready > 0 {
		r.print("  %d Nodes initialized in %.1f s with %d requests", ready, took.Seconds(), requests)
	}
	waiting := map[string]int{}
	for _, m := range running {
		if m.reason != "" {
			waiting[m.reason]++
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(waiting)) {
		r.print("  %d Nodes stay uninitialized, as they should: %s", waiting[reason], reason)
	}
	for _, finding := range findings {
		r.print("  vzones check: %s", finding)
	}
	for _, problem := range problems {
		r.print("  DIFFERS: %s", problem)
	}
	r.judged += len(running)
	r.differences += len(problems)
}

// load replaces the fleet with recordings and attaches tags.
func (r *replay) load(ctx context.Context, set []*recording) error {
	var spec struct {
		VCenters []map[string]string `yaml:"vcenters"`
	}
	for _, v := range set {
		spec.VCenters = append(spec.VCenters, map[string]string{"name": v.name, "recording": v.dir})
	}
	description, err := yaml.Marshal(spec)
	if err != nil {
		return err
	}
	if err := r.stack.Reset(ctx, string(description)); err != nil {
		return err
	}
	for _, v := range set {
		if v.hasOwnTags {
			continue
		}
		if err := r.stack.Fleet.VCenter(v.name).TagRecorded(v.tags); err != nil {
			return err
		}
	}
	return nil
}

// expect completes what the Nodes of running VMs should get. Of two VMs with an address, the older Node gets it. A
// disconnected VM may be off by now, so the Node may belong to a VM whose UUID cannot be read.
func expect(running []*vm, created map[string]*v1.Node, hasUnreadable bool) {
	byAge := slices.SortedFunc(slices.Values(running), func(a, b *vm) int {
		return cmp.Or(created[a.node()].CreationTimestamp.Compare(created[b.node()].CreationTimestamp.Time), cmp.Compare(a.node(), b.node()))
	})
	uuids := map[string]int{}
	for _, m := range running {
		uuids[m.uuid]++
	}
	taken := map[netip.Addr]bool{}
	for _, m := range byAge {
		switch {
		case uuids[m.uuid] > 1:
			m.reason = "Ambiguous"
			m.isUncertain = true
			continue
		case hasUnreadable && !m.isConnected:
			m.reason = "VMUnreadable"
			m.isUncertain = true
			continue
		}
		free := slices.DeleteFunc(slices.Clone(m.addresses), func(a netip.Addr) bool { return taken[a] })
		switch {
		case len(free) > 0:
			m.address = free[0]
			taken[free[0]] = true
		case m.reason != "":
		case len(m.addresses) > 0:
			m.reason = "AddressConflict"
		default:
			m.reason = "AddressMissing"
		}
	}
}

func reasonOf(n *v1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == nodeinfo.TopologyReady && c.Status != v1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// compare returns what differs between a Node and its VM.
func compare(m *vm, n *v1.Node) (problems []string) {
	differs := func(what, got, want string) {
		if got != want {
			problems = append(problems, fmt.Sprintf("%s is %q, should be %q", what, got, want))
		}
	}
	if n == nil {
		return []string{"it was deleted"}
	}
	if m.reason != "" {
		if stack.Initialized(n) {
			return []string{"it is initialized, but should not be: " + m.reason}
		}
		differs("the reason why it is uninitialized", reasonOf(n), m.reason)
		differs("its zone", n.Labels[v1.LabelTopologyZone], "")
		differs("its provider ID", n.Spec.ProviderID, "")
		return problems
	}
	if !stack.Initialized(n) {
		return []string{"it is not initialized: " + reasonOf(n)}
	}
	differs("its region", n.Labels[v1.LabelTopologyRegion], m.region)
	differs("its zone", n.Labels[v1.LabelTopologyZone], m.zone)
	differs("its beta region", n.Labels[v1.LabelFailureDomainBetaRegion], m.region)
	differs("its beta zone", n.Labels[v1.LabelFailureDomainBetaZone], m.zone)
	differs("its provider ID", n.Spec.ProviderID, m.providerID())
	differs("its VM", n.Annotations[nodeinfo.KeyVM], m.vcenter+"/"+m.id)
	instanceType := n.Labels[v1.LabelInstanceTypeStable]
	if !strings.HasPrefix(instanceType, m.instanceType) {
		differs("its instance type", instanceType, m.instanceType)
	}
	var addresses []string
	for _, a := range n.Status.Addresses {
		addresses = append(addresses, string(a.Type)+" "+a.Address)
	}
	slices.Sort(addresses)
	differs("its addresses", strings.Join(addresses, ", "),
		fmt.Sprintf("ExternalIP %s, Hostname %s, InternalIP %s", m.address, m.expectedHostName(), m.address))
	return problems
}
