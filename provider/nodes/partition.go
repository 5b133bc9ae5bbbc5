package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

const (
	reasonPartitioned = "ZonePartitioned"

	partitionsEvery = 5 * time.Second
	// partitionDelay is the minimum age of a partition before its Event. A Node is silent 50 s after its kubelet fails, and
	// a vCenter notices a failed host within 60 s. So when partitionDelay ends, 80 s after the failure, the VMs of a failed
	// host are no longer shown as running.
	partitionDelay = 30 * time.Second
	// maxPartitionAnswerAge limits the age of a vCenter's last answer. An idle vCenter answers every 25 s. The limit is not
	// above partitionDelay, so the vCenter has answered since the Nodes stopped reporting.
	maxPartitionAnswerAge = partitionDelay
)

// decidedNode is a Node with its last decision, which is nil for a Node that is not ours.
type decidedNode struct {
	node     *v1.Node
	decision *placement.Decision
}

// zoneHealth describes the Nodes of a zone.
type zoneHealth struct {
	total int
	// cutOff are the Nodes that have stopped reporting although their VMs run. uncertain is the number of other silent
	// Nodes whose VMs may run.
	cutOff    []*v1.Node
	uncertain int
}

// healthOfZones returns the health of each zone that has Nodes.
func healthOfZones(nodes []decidedNode, states []inventory.State, now time.Time) map[nodeinfo.Zone]*zoneHealth {
	zones := map[nodeinfo.Zone]*zoneHealth{}
	for _, n := range nodes {
		zone := nodeinfo.ZoneOf(n.node)
		if zone == (nodeinfo.Zone{}) {
			continue
		}
		if zones[zone] == nil {
			zones[zone] = &zoneHealth{}
		}
		zones[zone].add(n, states, now)
	}
	return zones
}

func (z *zoneHealth) add(n decidedNode, states []inventory.State, now time.Time) {
	z.total++
	d := n.decision
	if d == nil || !nodeinfo.IsSilent(n.node) {
		return
	}
	if d.VM == nil {
		if errors.Is(d.VMErr, topology.ErrUnknown) {
			z.uncertain++
		}
		return
	}
	vcenter := inventory.StateOf(states, d.VM.Ref.VCenter)
	isAnswering := vcenter.Err == nil && now.Sub(vcenter.LastContact) < maxPartitionAnswerAge
	switch {
	case d.VM.Power.IsOff():
	case d.VM.Power == inventory.PowerOn && isAnswering:
		z.cutOff = append(z.cutOff, n.node)
	default:
		// The VM's host is disconnected, or the vCenter does not answer.
		z.uncertain++
	}
}

// isPartitioned reports whether at least two Nodes, and two thirds of the zone's Nodes, are cut off.
func (z *zoneHealth) isPartitioned() bool { return z.isTwoThirds(len(z.cutOff)) }

// mayBePartitioned reports whether the zone would be partitioned if every uncertain VM ran.
func (z *zoneHealth) mayBePartitioned() bool { return z.isTwoThirds(len(z.cutOff) + z.uncertain) }

func (z *zoneHealth) isTwoThirds(n int) bool { return n >= 2 && 3*n >= 2*z.total }

func (z *zoneHealth) problem(zone nodeinfo.Zone) report.Problem {
	var names []string
	for _, n := range z.cutOff {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	text := fmt.Sprintf("%s: %d of %d Nodes have stopped reporting, but their VMs run on connected hosts: %s", zone, len(names), z.total, quote.Some(names, namedAtMost))
	return report.Problem{Key: reasonPartitioned, Reason: reasonPartitioned, Text: quote.NoteWith(text, "check the network between these Nodes and the API server, and do not delete them")}
}

// partitionedZone records the partition of a zone. reportedAt is zero until the partition has lasted for partitionDelay.
type partitionedZone struct{ since, reportedAt time.Time }

// reportPartitions reports partitioned zones on the daemon's Pod. A reported partition lasts until its end is certain.
func (l *labeler) reportPartitions(log klog.Logger, zones map[nodeinfo.Zone]*zoneHealth, now time.Time) {
	for zone, z := range zones {
		p, exists := l.partitions[zone]
		isReported := !p.reportedAt.IsZero()
		zoneLog := log.WithValues("region", quote.Plain(zone.Region), "zone", quote.Plain(zone.Zone))
		switch {
		case z.isPartitioned():
			if !exists {
				p.since = now
			}
			if now.Sub(p.since) >= partitionDelay && now.Sub(p.reportedAt) >= report.RepeatInterval(zone.String()) {
				p.reportedAt = now
				problem := z.problem(zone)
				l.emitOnPod(v1.EventTypeWarning, problem.Reason, problem.Text)
				zoneLog.Info("Most Nodes of a zone have stopped reporting although their VMs run", "nodes", len(z.cutOff), "of", z.total)
			}
			l.partitions[zone] = p
		case exists && (!isReported || !z.mayBePartitioned()):
			delete(l.partitions, zone)
			if isReported {
				zoneLog.Info("A zone is no longer partitioned")
			}
		}
	}
}

// findPartitions reports each partitioned zone on the daemon's Pod and on the Nodes that are cut off. A partition changes
// only Events and the metric zone_partitioned, no decision about a Node.
func (c *Controller) findPartitions(ctx context.Context, l *labeler) {
	now := time.Now()
	records := map[types.UID]*nodeRecord{}
	var nodes []decidedNode
	for _, n := range c.nodes.All() {
		d := decidedNode{node: n}
		if r := c.recordOf(n); r != nil && !c.placer.IsForeign(n) {
			records[n.UID] = r
			d.decision = r.decision
		}
		nodes = append(nodes, d)
	}
	zones := healthOfZones(nodes, c.fleet.States(), now)
	for zone := range l.partitions {
		if zones[zone] == nil {
			zones[zone] = &zoneHealth{}
		}
	}
	l.reportPartitions(klog.FromContext(ctx), zones, now)
	partitioned := map[nodeinfo.Zone]bool{}
	problems := map[types.UID]report.Problem{}
	for zone, z := range zones {
		if z.mayBePartitioned() {
			c.queue.AddAfter(item{job: findPartitions}, partitionsEvery)
		}
		partitioned[zone] = !l.partitions[zone].reportedAt.IsZero()
		if partitioned[zone] {
			problem := z.problem(zone)
			for _, n := range z.cutOff {
				problems[n.UID] = problem
			}
		}
	}
	c.store.Lock()
	defer c.store.Unlock()
	l.partitioned = partitioned
	for uid, r := range records {
		former := r.partition
		r.partition = problems[uid]
		if r.partition.Reason != former.Reason {
			c.enqueueLocked(uid)
		}
	}
}

// partitionVerdict returns the verdict about a Node's partition, which is resolved once the Node reports again.
func partitionVerdict(n *v1.Node, r *nodeRecord) verdict {
	v := verdict{about: aboutPartition, problem: r.partition}
	switch {
	case r.partition.Reason != "":
		v.state = wrong
	case !nodeinfo.IsSilent(n):
		v.state = resolved
	}
	return v
}
