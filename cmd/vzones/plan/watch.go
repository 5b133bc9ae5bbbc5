package plan

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/provider/plan"
	"vzones/topology"
)

// patience is the time for which the last decision about a Node remains valid while a new one is unknown, and for which a
// change of another program waits for a decision to compare with. It allows for the repeated reads of the tags on the
// ancestors of a joining Node's VM.
const patience = 30 * time.Second

// settle is the time after which a problem is a decision. The VM of a joining Node may not be read yet.
const settle = 3 * time.Second

// lag is the longest time until a change in a vCenter reaches the watch. Another program may see it earlier.
const lag = 10 * time.Second

// Kinds of changes besides those of a Plan. kindUninitialized is the problem of an uninitialized Node.
const (
	kindProviderID    = "providerID"
	kindNode          = "node"
	kindUninitialized = "uninitialized"
)

// Values of the kind kindNode.
const (
	present = "present"
	deleted = "deleted"
)

// A property identifies the subject of a Change or an Observed: a part of a Node, the Node itself or its problem.
type property struct{ kind, label string }

func (p property) compare(other property) int {
	return cmp.Or(strings.Compare(p.kind, other.kind), strings.Compare(p.label, other.label))
}

// view is the daemon's view of the Nodes.
type view interface {
	// Look returns the view of a Node. The caller may pass an earlier state of the Node.
	Look(*v1.Node) *world.Look
	// WhyKept returns nil if the daemon would delete the Node.
	WhyKept(context.Context, *v1.Node) error
	// ConfirmAbsent searches for the VM of a deleted Node, and returns nil if no vCenter has it.
	ConfirmAbsent(context.Context, *world.Look) error
	IsSelected(*v1.Node) bool
}

// shadow compares the daemon's decisions about Nodes with the changes that other programs make to them.
type shadow struct {
	view  view
	cfg   *config.Config
	print func(Entry)
	nodes map[string]*shadowed
	// deleted are Nodes whose deletion by another program is not compared yet.
	deleted []*shadowed
	// verdicts counts the compared changes.
	verdicts map[verdictKey]int
}

type verdictKey struct{ kind, verdict string }

// shadowed is the state of one Node.
type shadowed struct {
	node    *v1.Node
	vcenter string
	planned map[property]Change
	// errorSince is the time since which the Node has a problem, or its decisions are unknown; zero if neither.
	errorSince time.Time
	isUnknown  bool
	// observed are changes of other programs that are not compared yet. before is the Node without the changes in observed,
	// since the time of the first of them.
	observed []Observed
	before   *v1.Node
	since    time.Time
	// deletedAt is the time at which the watch saw the deletion of the Node, or zero.
	deletedAt time.Time
}

func newShadow(v view, cfg *config.Config, print func(Entry)) *shadow {
	return &shadow{view: v, cfg: cfg, print: print, nodes: map[string]*shadowed{}, verdicts: map[verdictKey]int{}}
}

// update processes changes of Nodes, and decides about all Nodes.
func (s *shadow) update(ctx context.Context, events []world.NodeEvent) {
	for _, e := range events {
		s.observe(ctx, e)
	}
	s.deleted = slices.DeleteFunc(s.deleted, func(n *shadowed) bool { return s.compareDeletion(ctx, n, ctx.Err() != nil) })
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[name]
		s.compare(ctx, n, ctx.Err() != nil)
		s.predict(ctx, n)
	}
}

func (s *shadow) observe(ctx context.Context, e world.NodeEvent) {
	switch {
	case e.New == nil:
		if n := s.nodes[e.Old.Name]; n != nil {
			s.compare(ctx, n, true)
			n.deletedAt = time.Now()
			s.deleted = append(s.deleted, n)
			delete(s.nodes, e.Old.Name)
		}
	case s.view.IsSelected(e.New):
		n := s.nodes[e.New.Name]
		if n == nil {
			n = &shadowed{node: e.New, planned: map[property]Change{}}
			s.nodes[e.New.Name] = n
		}
		for _, o := range s.differences(n.node, e.New) {
			if len(n.observed) == 0 {
				n.before = n.node
				n.since = time.Now()
			}
			n.add(o)
		}
		n.node = e.New
	}
}

// add adds a change, or extends an earlier change of the same property.
func (n *shadowed) add(o Observed) {
	i := slices.IndexFunc(n.observed, func(earlier Observed) bool { return earlier.property() == o.property() })
	if i < 0 {
		n.observed = append(n.observed, o)
		return
	}
	n.observed[i].To = o.To
}

// differences returns the differences between two states of a Node in the properties that a cloud controller manager
// writes.
func (s *shadow) differences(before, after *v1.Node) (all []Observed) {
	add := func(kind, label, from, to string) {
		if from != to {
			all = append(all, Observed{Kind: kind, Label: label, From: from, To: to})
		}
	}
	for _, key := range []string{cloudproviderapi.TaintExternalCloudProvider, cloudproviderapi.TaintNodeShutdown, nodeinfo.DriftTaint} {
		add("taint", key, effectIf(hasTaint(before, key), v1.TaintEffectNoSchedule), effectIf(hasTaint(after, key), v1.TaintEffectNoSchedule))
	}
	add(kindProviderID, "", before.Spec.ProviderID, after.Spec.ProviderID)
	for _, label := range slices.Concat(s.cfg.Topology.Policy.Labels(), slices.Sorted(maps.Keys(s.cfg.NodeLabels))) {
		add("label", label, world.ValueOn(before, label), world.ValueOn(after, label))
	}
	add("instanceType", plan.LabelInstanceType, world.ValueOn(before, plan.LabelInstanceType), world.ValueOn(after, plan.LabelInstanceType))
	add("addresses", "", byType(join(before.Status.Addresses)), byType(join(after.Status.Addresses)))
	return all
}

// byType sorts joined addresses by type, since the API server does not keep the order of types.
func byType(addresses string) string {
	list := strings.Split(addresses, ", ")
	slices.SortStableFunc(list, func(a, b string) int {
		a, _, _ = strings.Cut(a, " ")
		b, _, _ = strings.Cut(b, " ")
		return strings.Compare(a, b)
	})
	return strings.Join(list, ", ")
}

// changes returns the daemon's changes of a Node by property. A Change without an Action is not made, and its Text gives
// the reason.
func (s *shadow) changes(ctx context.Context, l *world.Look) map[property]Change {
	byProperty := map[property]Change{}
	for _, c := range pendingChanges(l, s.cfg).Changes {
		switch {
		case c.Kind == "addresses":
			c.Now = byType(c.Now)
			c.Result = byType(c.Result)
			c.Then = c.Result
			// The framework writes them in a request of its own after it has initialized the Node.
			c.Action = "write"
			c.Text = "the daemon writes them"
			if c.Now == c.Result {
				continue
			}
		case c.Kind == "problem" && l.Uninitialized:
			c.Kind = kindUninitialized
		case c.Action == "delete":
			c.Action = ""
			c.Text = "vzones searches for its VM"
			byProperty[property{kindNode, ""}] = s.deletion(ctx, l.Node)
		}
		byProperty[property{c.Kind, c.Label}] = c
	}
	if m := l.Place.Metadata; l.Uninitialized && m != nil {
		add := func(c Change) {
			c.Then = c.Result
			if c.Now == c.Result {
				delete(byProperty, property{c.Kind, c.Label})
				return
			}
			byProperty[property{c.Kind, c.Label}] = c
		}
		const text = "set when the Node is initialized"
		typeSource := l.Label(plan.LabelInstanceType).Source
		add(Change{
			Kind: "taint", Label: cloudproviderapi.TaintExternalCloudProvider, Now: string(v1.TaintEffectNoSchedule), Action: string(plan.ActionUntaint),
			Text: "initializes the Node",
		})
		add(Change{Kind: kindProviderID, Now: l.Node.Spec.ProviderID, Result: m.ProviderID, Action: world.ActionInitialize, Text: text})
		add(Change{
			Kind: "instanceType", Label: plan.LabelInstanceType, Now: world.ValueOn(l.Node, plan.LabelInstanceType), Result: m.InstanceType,
			By: typeSource, Action: world.ActionInitialize, Text: text,
		})
	}
	return byProperty
}

func (s *shadow) deletion(ctx context.Context, n *v1.Node) Change {
	c := Change{Kind: kindNode, Now: present, Then: deleted, Result: deleted, Action: "delete", Text: "would delete the Node: every vCenter was searched, and none has its VM"}
	if err := s.view.WhyKept(ctx, n); err != nil {
		c.Result = present
		c.Action = ""
		c.Text = keepsFor(err)
	}
	return c
}

func keepsFor(err error) string { return "would keep the Node for now: " + quote.Line(err.Error()) }

// predict prints the changes that the daemon would now make to a Node, unless they are printed already.
func (s *shadow) predict(ctx context.Context, n *shadowed) {
	l := s.view.Look(n.node)
	n.vcenter = cmp.Or(l.VCenter(), n.vcenter)
	if n.isUndecided(l) {
		return
	}
	changes := s.changes(ctx, l)
	for _, p := range slices.SortedFunc(maps.Keys(n.planned), property.compare) {
		was := n.planned[p]
		// A Change without an Action is always withdrawn when it disappears: its Result is the Node's current value, so
		// hasResult cannot show that it was made.
		isMade := was.Action != "" && s.hasResult(n.node, &was)
		if _, remains := changes[p]; !remains && !isMade {
			s.print(Entry{Event: withdrawn, Node: n.node.Name, VCenter: n.vcenter, Change: &was})
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(changes), property.compare) {
		if c := changes[p]; c != n.planned[p] {
			s.print(Entry{Event: predicted, Node: n.node.Name, VCenter: n.vcenter, Change: &c})
		}
	}
	n.planned = changes
}

// isUndecided reports whether the last decision about the Node remains valid, because the new one is unknown or may be
// due to a problem that passes.
func (n *shadowed) isUndecided(l *world.Look) bool {
	if l.Err == nil {
		n.errorSince = time.Time{}
		return false
	}
	isUnknown := errors.Is(l.Err, topology.ErrUnknown)
	if n.errorSince.IsZero() || n.isUnknown != isUnknown {
		n.errorSince = time.Now()
		n.isUnknown = isUnknown
	}
	if isUnknown {
		return time.Since(n.errorSince) < patience
	}
	return time.Since(n.errorSince) < settle
}

// hasResult reports whether a Node has the result of a change.
func (s *shadow) hasResult(n *v1.Node, c *Change) bool {
	for _, d := range s.differences(&v1.Node{}, n) {
		if d.property() == (property{c.Kind, c.Label}) {
			return d.To == c.Result
		}
	}
	return c.Result == ""
}

// compare compares the changes of other programs with the daemon's decision about the Node before them. It postpones the
// comparison for up to patience while the decision is unknown, and for up to lag while it differs, unless isEnd.
func (s *shadow) compare(ctx context.Context, n *shadowed, isEnd bool) {
	if len(n.observed) == 0 {
		return
	}
	l := s.view.Look(n.before)
	isUnknown := errors.Is(l.Err, topology.ErrUnknown) || l.Uninitialized && l.Place.Metadata == nil
	age := time.Since(n.since)
	if isUnknown && age < patience && !isEnd {
		return
	}
	n.vcenter = cmp.Or(l.VCenter(), n.vcenter)
	changes := s.changes(ctx, l)
	var waiting []Observed
	for _, o := range n.observed {
		o.Expected = o.From
		o.Why = "vzones leaves it as it is"
		c, isChanged := changes[o.property()]
		switch {
		case l.Foreign:
			o.Why = "vzones ignores the Node"
		case isChanged:
			o.Expected = c.Result
			o.Why = cmp.Or(c.Undecided, c.By, c.Text)
			// Without an Action, c.By is the source of a value that is not written, so c.Text is the reason.
			if c.Action == "" {
				o.Why = cmp.Or(c.Undecided, c.Text)
			}
		case l.Err != nil:
			o.Why = l.Text()
		}
		switch {
		case o.Expected == o.To:
			o.Verdict = verdictAgrees
		case errors.Is(l.Err, topology.ErrUnknown) && !isChanged:
			o.Verdict = verdictUndecided
		default:
			o.Verdict = verdictDiffers
		}
		if o.Verdict == verdictDiffers && age < lag && !isEnd {
			waiting = append(waiting, o)
			continue
		}
		s.conclude(n, o)
	}
	n.observed = waiting
	if len(waiting) == 0 {
		n.before = nil
	}
}

// compareDeletion compares a deletion by another program with the daemon's decision, and reports whether it did. The other
// program may have been faster than the daemon's search. It postpones the comparison for up to lag while the watch still
// sees the VM, unless isEnd.
func (s *shadow) compareDeletion(ctx context.Context, n *shadowed, isEnd bool) bool {
	c, isPlanned := n.planned[property{kindNode, ""}]
	if !isPlanned || c.Result != deleted {
		l := s.view.Look(n.node)
		c, isPlanned = s.changes(ctx, l)[property{kindNode, ""}]
		switch {
		case !isPlanned && time.Since(n.deletedAt) < lag && !isEnd:
			return false
		case !isPlanned:
			c = Change{Result: present, Text: "would keep the Node"}
		default:
			if err := s.view.ConfirmAbsent(ctx, l); err != nil {
				c.Text = keepsFor(err)
			} else {
				c.Result = deleted
			}
		}
	}
	o := Observed{Kind: kindNode, From: present, To: deleted, Expected: c.Result, Verdict: verdictDiffers, Why: c.Text}
	if o.Expected == deleted {
		o.Verdict = verdictAgrees
	}
	s.conclude(n, o)
	return true
}

func (s *shadow) conclude(n *shadowed, o Observed) {
	s.verdicts[verdictKey{o.Kind, o.Verdict}]++
	s.print(Entry{Event: observed, Node: n.node.Name, VCenter: n.vcenter, Observed: &o})
}

// summary counts the compared changes, and the changes that the daemon would make now or leave unmade.
func (s *shadow) summary() *Summary {
	out := &Summary{Nodes: len(s.nodes), Pending: map[string]int{}, Unwritten: map[string]int{}, Observed: map[string]int{verdictAgrees: 0, verdictDiffers: 0, verdictUndecided: 0}}
	for key, count := range s.verdicts {
		out.Observed[key.verdict] += count
	}
	for _, n := range s.nodes {
		for _, c := range n.planned {
			if c.Action != "" {
				out.Pending[c.Kind]++
			} else {
				out.Unwritten[c.Kind]++
			}
		}
	}
	return out
}

// runWatch compares until the context is done. It returns cli.ErrFindings if a change of another program differed.
func runWatch(ctx context.Context, t *cli.Tool, flags *world.Flags, format cli.Format, w *watching) error {
	live, err := world.OpenLive(ctx, flags, w.daemonFlags)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var printErr error
	s := newShadow(live, live.Config, func(e Entry) {
		e.Time = time.Now()
		if printErr == nil {
			printErr = writeEntry(t, format, e)
		}
		if printErr != nil {
			cancel()
		}
	})
	var metrics shadowMetrics
	metrics.set(s)
	if w.metricsAddress != "" {
		_, stop, err := serveMetrics(ctx, w.metricsAddress, &metrics)
		if err != nil {
			return err
		}
		defer stop()
	}
	err = live.Run(ctx, func(ctx context.Context, events []world.NodeEvent) {
		s.update(ctx, events)
		metrics.set(s)
	})
	if err != nil {
		return err
	}
	s.print(Entry{Event: summary, Summary: s.summary()})
	if printErr == nil && s.summary().Observed[verdictDiffers] > 0 {
		return cli.ErrFindings
	}
	return printErr
}
