package metrics

import (
	"errors"
	"time"

	"k8s.io/component-base/metrics"

	"vzones/provider/nodes"
	"vzones/vcenter"
	"vzones/vcenter/session"
)

// Health is what the metrics need of a fleet.
type Health interface{ Health() []vcenter.Health }

// Fleet shows the state of vCenters and Nodes at the time of the scrape.
type Fleet struct {
	metrics.BaseStableCollector
	// leading is closed when this instance leads. A standby shows nothing.
	leading  <-chan struct{}
	fleet    Health
	outcomes func() (all, waiting map[string]int)

	up, contact, complete, indexed, watched, unreadable, nodes, uninitialized *metrics.Desc
	credentialsRejected, loginRejected, credentialsMissing                    *metrics.Desc
	untrusted, expiry, tags                                                   *metrics.Desc
}

// NewFleet returns the metrics of a fleet and of the Nodes by outcome. Leading is closed when
// this instance leads.
func NewFleet(leading <-chan struct{}, fleet Health, outcomes func() (all, waiting map[string]int)) *Fleet {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(Subsystem+"_"+name, help, labels, nil, metrics.ALPHA, "")
	}
	return &Fleet{
		leading:             leading,
		fleet:               fleet,
		outcomes:            outcomes,
		up:                  desc("vcenter_up", "1 if a vCenter was read and its watch runs, else 0.", "vcenter"),
		contact:             desc("vcenter_snapshot_age_seconds", "Time since a vCenter last answered its watch, which is how old its snapshot may be. Absent before the first answer.", "vcenter"),
		complete:            desc("vcenter_snapshot_complete", "1 if all machines of a vCenter's configured datacenters are known, else 0: then no machine counts as absent.", "vcenter"),
		indexed:             desc("vcenter_indexed_uuids", "Different machine UUIDs in a vCenter's index.", "vcenter"),
		watched:             desc("vcenter_followed_machines", "Machines of a vCenter that belong to Nodes and are known in full.", "vcenter"),
		unreadable:          desc("vcenter_unreadable_tag_objects", "Objects above the followed machines of a vCenter whose tags the account may not read.", "vcenter"),
		credentialsRejected: desc("vcenter_credentials_rejected", "1 if a vCenter has rejected credentials and has accepted none since, else 0. Open sessions continue.", "vcenter"),
		credentialsMissing:  desc("vcenter_credentials_missing", "1 if the configured credentials of a vCenter are not there or cannot be read, else 0. Open sessions continue.", "vcenter"),
		loginRejected:       desc("vcenter_login_rejected", "1 if a vCenter cannot be read because it rejects the login, else 0.", "vcenter"),
		tags:                desc("vcenter_tags_known", "1 if the last reading of a vCenter's tags ended well, or none is needed, else 0. Absent before the first has ended.", "vcenter"),
		untrusted:           desc("vcenter_certificate_untrusted", "1 if a vCenter, or what it is reached by, shows a certificate that is not trusted, else 0.", "vcenter"),
		expiry:              desc("vcenter_certificate_expiry_timestamp_seconds", "When the certificate that a vCenter showed last is not trusted any more. Absent where any certificate is accepted, or this one by its thumbprint.", "vcenter"),
		uninitialized:       desc("uninitialized_nodes", "Nodes that are not initialized yet, by the same outcomes as all Nodes.", "outcome"),
		nodes:               desc("nodes", "Nodes by what is known of them: "+nodes.OutcomesHelp+".", "outcome"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (s *Fleet) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{s.up, s.contact, s.complete, s.indexed, s.watched, s.unreadable, s.nodes, s.uninitialized, s.credentialsRejected, s.loginRejected, s.credentialsMissing, s.untrusted, s.expiry, s.tags} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *Fleet) CollectWithStability(ch chan<- metrics.Metric) {
	if !isClosed(s.leading) {
		return
	}
	gauge := func(d *metrics.Desc, v float64, label string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, v, label)
	}
	for _, v := range s.fleet.Health() {
		gauge(s.up, number(v.Err == nil && v.Snapshot != nil), v.VCenter)
		if v.Tags != vcenter.TagsNotRead {
			gauge(s.tags, number(v.Tags == vcenter.TagsRead), v.VCenter)
		}
		gauge(s.credentialsRejected, number(v.Rejected), v.VCenter)
		gauge(s.credentialsMissing, number(v.CredentialsErr != nil), v.VCenter)
		gauge(s.loginRejected, number(errors.Is(v.Err, session.ErrRejected)), v.VCenter)
		gauge(s.untrusted, number(errors.As(v.Err, new(*session.UntrustedError))), v.VCenter)
		if !v.CertificateEnds.IsZero() {
			gauge(s.expiry, float64(v.CertificateEnds.Unix()), v.VCenter)
		}
		if !v.LastContact.IsZero() {
			gauge(s.contact, time.Since(v.LastContact).Seconds(), v.VCenter)
		}
		if v.Snapshot == nil {
			gauge(s.complete, 0, v.VCenter)
			continue
		}
		gauge(s.complete, number(v.Snapshot.Incomplete == nil), v.VCenter)
		gauge(s.indexed, float64(len(v.Snapshot.Index)), v.VCenter)
		gauge(s.watched, float64(len(v.Snapshot.Machines)), v.VCenter)
		gauge(s.unreadable, float64(len(v.Snapshot.NotPermitted)), v.VCenter)
	}
	all, waiting := s.outcomes()
	for outcome, n := range all {
		gauge(s.nodes, float64(n), outcome)
		gauge(s.uninitialized, float64(waiting[outcome]), outcome)
	}
}
