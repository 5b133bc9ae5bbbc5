package provider

import (
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/plan"
	"vzones/provider/report"
	"vzones/provider/write"
	"vzones/topology"
	"vzones/topology/quote"
)

// InstanceExists reports whether a Node's machine exists. False makes the framework delete
// the Node, see absence.Checker.
func (p *Provider) InstanceExists(ctx context.Context, node *v1.Node) (bool, error) {
	exists, err := p.checker.CheckExists(ctx, node)
	p.guard.Exists(node, exists || err != nil)
	return exists, err
}

// InstanceShutdown reports whether a Node's machine is known to be powered off or suspended, by a
// vCenter that can be read. A Node of another provider is not shut down. The framework taints the
// Node of a machine that is, and does nothing otherwise: it would only log an error, of each Node
// that is not ready, every five seconds while a vCenter is down.
func (p *Provider) InstanceShutdown(ctx context.Context, node *v1.Node) (bool, error) {
	if p.placer.IsForeign(node) {
		return false, nil
	}
	down, err := p.placer.IsShutDown(node)
	if err != nil {
		klog.FromContext(ctx).V(4).Info("It is not known whether the machine is shut down", "node", klog.KObj(node), "err", quote.Line(err.Error()))
	}
	p.guard.Shutdown(node, down)
	return down, nil // false after an error
}

// InstanceMetadata returns what the framework writes to a Node.
//
// For a Node that carries the framework's taint it is complete or nothing: nil
// without an error leaves the Node alone, and it is announced to the
// framework's controller again once there is more to say. An error instead would be
// tried again at intervals that grow to a quarter of an hour.
//
// For a Node without the taint only the addresses count, and there are none if
// they are to stay as they are, as while its machine is unknown. For a Node of another provider the result is
// empty, which changes nothing.
func (p *Provider) InstanceMetadata(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, error) {
	if nodeinfo.IsUninitialized(node) {
		m, besides := p.initial(ctx, node)
		p.guard.Metadata(node, m, besides)
		return m, nil
	}
	if p.placer.IsForeign(node) {
		return &cloudprovider.InstanceMetadata{}, nil
	}
	addresses, err := p.placer.Readdress(node)
	if err != nil {
		p.guard.Metadata(node, nil, write.Besides{})
		return nil, err
	}
	m := &cloudprovider.InstanceMetadata{NodeAddresses: addresses}
	p.guard.Metadata(node, m, write.Besides{})
	return m, nil
}

// initial returns what a Node is initialized with and gets besides, nil if it has to wait or is
// another provider's.
func (p *Provider) initial(ctx context.Context, node *v1.Node) (*cloudprovider.InstanceMetadata, write.Besides) {
	if p.placer.IsForeign(node) {
		return nil, write.Besides{}
	}
	d, err := p.placer.Initialize(node)
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Node waits", "node", klog.KObj(node), "err", quote.Line(err.Error()))
		return nil, write.Besides{}
	}
	d.Log(ctx, node)
	return d.Metadata, p.besides(node, d)
}

// besides returns what a Node gets that the framework does not write: where its machine is, labels
// in Kubernetes' own domains, and the condition, unless something is not certain or not right.
func (p *Provider) besides(node *v1.Node, d *placement.Decision) write.Besides {
	b := write.Besides{Annotations: d.Annotations, Labels: map[string]string{}, Levels: map[string]string{}}
	for label, value := range d.Placement.Further() {
		if topology.IsReservedLevel(label) {
			b.Labels[label] = value
		} else if _, there := node.Labels[label]; !there {
			b.Levels[label] = value
		}
	}
	if p.keepsLabels.Load() && !d.Shared && d.Placement.Uncertainty() == nil && !p.keepsAnother(node, d.Placement) {
		ready := report.Ready(node, v1.ConditionTrue, report.ConditionCurrent, report.TextCurrent)
		b.Condition = &ready
	}
	return b
}

// keepsAnother reports whether a Node has a label that is not its place's and that initializing it
// leaves: one without a value, or one of a level, which the framework does not overwrite.
func (p *Provider) keepsAnother(node *v1.Node, placed topology.Placement) bool {
	for _, label := range p.placer.Topology().Policy.Labels() {
		want := placed.Value(label)
		overwritten := want != "" && (!plan.IsLevel(label) || topology.IsReservedLevel(label))
		for _, key := range plan.StableAndBeta(label) {
			if value, there := node.Labels[key]; there && value != want && !overwritten {
				return true
			}
		}
	}
	return false
}
