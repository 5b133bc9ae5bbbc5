package metrics

import (
	"errors"
	"time"

	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// vcenterGauges are the gauges of each vCenter. Unknown values are absent.
var vcenterGauges = []struct {
	name  string
	value func(vcenter.Health) (v float64, isKnown bool)
	help  string
}{
	{"vcenter_up", func(h vcenter.Health) (float64, bool) { return number(h.Err == nil && h.Snapshot != nil), true }, "1 if a vCenter was read and its watch runs, else 0."},
	{"vcenter_snapshot_age_seconds", func(h vcenter.Health) (float64, bool) {
		return time.Since(h.LastContact).Seconds(), !h.LastContact.IsZero()
	}, "Time since a vCenter last answered its watch, which is how old its snapshot may be. Absent before the first answer."},
	{"vcenter_snapshot_complete", func(h vcenter.Health) (float64, bool) {
		return number(h.Snapshot != nil && h.Snapshot.Incomplete == nil), true
	}, "1 if all VMs of a vCenter's configured datacenters are known, else 0: then no VM is considered absent."},
	{"vcenter_credentials_rejected", func(h vcenter.Health) (float64, bool) { return number(h.Rejected), true }, "1 if a vCenter has rejected credentials and has accepted none since, else 0. Open sessions continue."},
	{"vcenter_credentials_missing", func(h vcenter.Health) (float64, bool) { return number(h.CredentialsErr != nil), true }, "1 if the configured credentials of a vCenter are missing or cannot be read, else 0. Open sessions continue."},
	{"vcenter_login_rejected", func(h vcenter.Health) (float64, bool) { return number(errors.Is(h.Err, session.ErrRejected)), true }, "1 if a vCenter cannot be read because it rejects the login, else 0."},
	{"vcenter_tags_available", func(h vcenter.Health) (float64, bool) {
		return number(h.Tags == vcenter.TagsRead), h.Tags != vcenter.TagsNotRead
	}, "1 if the last read of a vCenter's tags succeeded or no tags are needed, else 0. Absent until the first read has finished."},
	{"vcenter_certificate_untrusted", func(h vcenter.Health) (float64, bool) {
		return number(errors.As(h.Err, new(*session.UntrustedError))), true
	}, "1 if a vCenter, or a proxy on the way to it, presents an untrusted certificate, else 0."},
	{"vcenter_certificate_expiry_timestamp_seconds", func(h vcenter.Health) (float64, bool) {
		return float64(h.CertificateEnds.Unix()), !h.CertificateEnds.IsZero()
	}, "Time at which the certificate that a vCenter last presented is no longer trusted. Absent if verification is disabled or uses a thumbprint."},
}

var snapshotGauges = []struct {
	name  string
	value func(*inventory.Snapshot) int
	help  string
}{
	{"vcenter_indexed_uuids", func(s *inventory.Snapshot) int { return s.Len() }, "Distinct VM UUIDs in a vCenter's index."},
	{"vcenter_watched_vms", func(s *inventory.Snapshot) int { return len(s.VMs) }, "VMs of a vCenter that belong to Nodes and are watched in detail."},
	{"vcenter_unreadable_tag_objects", func(s *inventory.Snapshot) int { return len(s.NotPermitted) }, "Objects above a vCenter's watched VMs, with tags that the account cannot read."},
}

// States collects the states of vCenters and Nodes at the time of the scrape.
type States struct {
	metrics.BaseStableCollector
	leading <-chan struct{}
	fleet   func() []vcenter.Health
	nodes   func() nodes.Stats
	descs   map[string]*metrics.Desc
}

// NewStates returns the metrics of vCenters and Nodes. Before leading is closed, they show only that
// this instance stands by.
func NewStates(leading <-chan struct{}, fleet func() []vcenter.Health, nodes func() nodes.Stats) *States {
	s := &States{leading: leading, fleet: fleet, nodes: nodes, descs: map[string]*metrics.Desc{}}
	add := func(name, help string, labels ...string) {
		s.descs[name] = metrics.NewDesc(Subsystem+"_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	add("leading", "1 if this instance leads, so it reads the vCenters and writes to Nodes, 0 if it is a standby.")
	for _, g := range vcenterGauges {
		add(g.name, g.help, "vcenter")
	}
	for _, g := range snapshotGauges {
		add(g.name, g.help, "vcenter")
	}
	add("nodes", "Nodes by outcome: "+report.OutcomesHelp+".", "outcome")
	add("uninitialized_nodes", "Uninitialized Nodes, by the same outcomes.", "outcome")
	add("deletion_blocked_nodes", "Nodes that are not ready and whose VMs are not found, but that are not deleted, by reason: "+placement.KeptHelp+".", "reason")
	add("topology_drifting_nodes", "Initialized Nodes with a topology label that differs from their placement.")
	add("instance_type_drifting_nodes", "Initialized Nodes with an instance type that differs from their VM's.")
	add("topology_conflicting_nodes", "Initialized Nodes with conflicting tags, by kind of conflict.", "kind")
	add("zone_partitioned", "1 if most Nodes of a zone have stopped reporting although their VMs run, else 0.", "region", "zone")
	add("topology_writes_total", "Changes to initialized Nodes by the topology controller, by action.", "action")
	return s
}

// DescribeWithStability implements metrics.StableCollector.
func (s *States) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range s.descs {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *States) CollectWithStability(ch chan<- metrics.Metric) {
	show := func(name string, v float64, label ...string) {
		ch <- metrics.NewLazyConstMetric(s.descs[name], metrics.GaugeValue, v, label...)
	}
	show("leading", number(isClosed(s.leading)))
	if !isClosed(s.leading) {
		return
	}
	for _, h := range s.fleet() {
		for _, g := range vcenterGauges {
			if v, isKnown := g.value(h); isKnown {
				show(g.name, v, h.VCenter)
			}
		}
		for _, g := range snapshotGauges {
			if h.Snapshot != nil {
				show(g.name, float64(g.value(h.Snapshot)), h.VCenter)
			}
		}
	}
	n := s.nodes()
	for outcome := range n.Outcomes {
		show("nodes", float64(n.Outcomes[outcome]), outcome)
		show("uninitialized_nodes", float64(n.Waiting[outcome]), outcome)
	}
	for reason, kept := range n.KeptReasons {
		show("deletion_blocked_nodes", float64(kept), reason)
	}
	if !n.LabelsAreKept {
		return
	}
	show("topology_drifting_nodes", float64(n.Drifting))
	show("instance_type_drifting_nodes", float64(n.Resized))
	for kind, conflicts := range n.Conflicts {
		show("topology_conflicting_nodes", float64(conflicts), string(kind))
	}
	for zone, isPartitioned := range n.Partitioned {
		show("zone_partitioned", number(isPartitioned), zone.Region, zone.Zone)
	}
	for action, writes := range n.Writes {
		ch <- metrics.NewLazyConstMetric(s.descs["topology_writes_total"], metrics.CounterValue, float64(writes), string(action))
	}
}
