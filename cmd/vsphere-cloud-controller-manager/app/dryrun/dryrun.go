// Package dryrun lets the daemon read and decide everything and write nothing, and shows what
// it would write.
//
// A Run stands between the daemon's controllers and the API server. An update of a Node is sent
// with dryRun=All, so that the API server says what would come of it; what differs from the Node
// as it is, is noted. No Node is deleted, and the controllers' Events are noted only. Any other
// write is refused. Once all Nodes are decided about, the result is a table, and one Event with
// a reason of its own for each Node that would change or has a problem. These Events are all
// that is ever written.
//
// The controllers never see what they would have written. So they say it again and again, and
// what follows only from a write that was made is not in the result.
package dryrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/clients"
	"vzones/provider"
	"vzones/provider/nodes"
	"vzones/provider/nodestate"
	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/inventory"
)

const (
	// Round is how often the framework has to look at all Nodes: in a dry run, whose end waits
	// for that, far more often than otherwise.
	Round = 2 * time.Second
	// quiet is how long nothing new has to come before all is decided: longer than what the
	// controllers wait for between two steps.
	quiet = 4 * Round
	// quietUnknown is the same while something about a Node could not be read, although each
	// vCenter answers: longer than such a thing waits to be read again by default.
	quietUnknown = 40 * time.Second
	// look is how often a dry run looks whether it is at its end, and say how often it
	// logs what it waits for.
	look, say = 500 * time.Millisecond, 30 * time.Second
	// mostWaiting is how many Nodes a message names.
	mostWaiting = 3
)

var (
	// ErrIncomplete is the error of a dry run whose time was over before everything was decided,
	// if there is no other one.
	ErrIncomplete = errors.New("the dry run is incomplete")
	// ErrInterrupted is the error of a dry run that was asked to end before its result.
	ErrInterrupted = errors.New("the dry run was ended before everything was decided")
	// errFailed is the error of a dry run that does not know what would come of some write.
	errFailed = errors.New("not all that would be written is known")
	// errNoNodes is the error of a dry run that never had the Nodes.
	errNoNodes = errors.New("the Nodes cannot be listed: see the log")
)

// A Run is one dry run.
type Run struct {
	changes *changes
	asked   *asked
	// writing makes clients that write; it is set by Clients.
	writing cloudprovider.ControllerClientBuilder
	// result is set by Await, once.
	result atomic.Pointer[result]
}

// A result is what a dry run ends with: what it has found, and why it could not finish its work.
type result struct {
	report  *report
	failure error
}

// New returns a dry run.
func New() *Run { return &Run{changes: newChanges(), asked: newAsked()} }

// Wrap returns a transport through which nothing is written.
func (r *Run) Wrap(next http.RoundTripper) http.RoundTripper { return &transport{r.changes, next} }

// Clients returns what makes the clients of a builder, which write nothing. The Events of the
// result are written with one of that builder.
func (r *Run) Clients(of cloudprovider.ControllerClientBuilder) cloudprovider.ControllerClientBuilder {
	r.writing = of
	return clients.Wrapped{ControllerClientBuilder: of, Wrap: r.Wrap}
}

// Cloud returns the provider as the framework has to get it.
func (r *Run) Cloud(p *provider.Provider) cloudprovider.Interface { return cloud{p, r.asked} }

// A World is what a dry run goes by.
type World struct {
	// States returns the vCenters' states now.
	States func() []inventory.State
	// Progress is nodes.Controller's.
	Progress func() (nodes.Progress, bool)
	// Initializes reports whether the framework's node controller runs, which initializes Nodes
	// and keeps their addresses.
	Initializes bool
	// Timeout is how long a dry run takes at most.
	Timeout time.Duration
}

// Await waits until everything is decided, for the time of the World at most, and writes the
// Events. Print shows the result.
func (r *Run) Await(ctx context.Context, w *World) {
	log := klog.FromContext(ctx)
	log.Info("This is a dry run: no Node is written or deleted", "timeout", w.Timeout)
	end := time.Now().Add(w.Timeout)
	next := time.Now().Add(say)
	tick := time.NewTicker(look)
	defer tick.Stop()
	was := progress{since: time.Now()}
	for {
		now := r.look(w, was)
		switch {
		case now.waits == "":
			r.finish(ctx, w, "")
			return
		case !time.Now().Before(end):
			r.finish(ctx, w, fmt.Sprintf("not decided within %v: %s", w.Timeout, now.waits))
			return
		case time.Now().After(next):
			next = next.Add(say)
			log.Info("The dry run goes on", "waitsFor", quote.Line(now.waits))
		}
		was = now
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.result.Store(&result{r.report(w, "it was ended before", nil), ErrInterrupted})
			return
		}
	}
}

// finish makes the result.
func (r *Run) finish(ctx context.Context, w *World, incomplete string) {
	found, err := r.conclude(ctx, w, incomplete)
	r.result.Store(&result{found, err})
}

// conclude compares what is known with the Nodes as they are by now, and writes the Events.
func (r *Run) conclude(ctx context.Context, w *World, incomplete string) (*report, error) {
	client, err := r.writing.Client(provider.ClientName)
	if err != nil {
		return r.report(w, incomplete, nil), err
	}
	if _, begun := w.Progress(); !begun {
		return r.report(w, incomplete, nil), errNoNodes
	}
	is, err := list(ctx, client)
	found := r.report(w, incomplete, is)
	return found, cmp.Or(err, found.record(ctx, client))
}

// A progress is how far a dry run is.
type progress struct {
	// text says what is known of the Nodes, and version of what would be written.
	text    string
	version int
	// since is since when both are so.
	since time.Time
	// waits is what is waited for, empty if everything is decided.
	waits string
	// isRead reports whether each vCenter is read.
	isRead bool
}

// look looks how far the dry run is.
func (r *Run) look(w *World, was progress) progress {
	now := progress{since: was.since}
	p, begun := w.Progress()
	var lines []string
	enough := quiet
	for _, n := range p.Nodes {
		lines = append(lines, fmt.Sprintf("%s %t", n.Node.UID, n.Unplaced != nil))
		if errors.Is(n.Unplaced, topology.ErrUnknown) {
			enough = quietUnknown
		}
	}
	slices.Sort(lines)
	now.text = strings.Join(lines, "\n")
	version, busy := r.changes.state()
	now.version = version
	vcenters := unread(w.States())
	now.isRead = len(vcenters) == 0
	if now.text != was.text || now.version != was.version || now.isRead != was.isRead {
		now.since = time.Now()
	}
	written, failing := r.changes.progress()
	if failing {
		enough = quietUnknown // it is tried again
	}
	switch {
	case !begun:
		now.waits = "the Nodes are being listed"
	case len(vcenters) > 0:
		now.waits = strings.Join(vcenters, "; ")
	case !busy:
		now.waits = r.waitsFor(w, &p, now.since)
	}
	if now.waits == "" && (busy || time.Since(now.since) < enough) {
		now.waits = fmt.Sprintf("writes were still being worked out (Nodes so far: %d)", written)
	}
	return now
}

// unread says which vCenters are not read.
func unread(states []inventory.State) []string {
	var all []string
	for _, s := range states {
		switch {
		case s.Err != nil:
			all = append(all, named(s.VCenter, s.Err))
		case s.Snapshot == nil:
			all = append(all, fmt.Sprintf("vCenter %q is being read", s.VCenter))
		}
	}
	return all
}

// named returns the text of an error of a vCenter, which begins with the vCenter.
func named(vcenter string, err error) string {
	name, text := fmt.Sprintf("vCenter %q", vcenter), quote.Line(err.Error())
	if strings.HasPrefix(text, name) {
		return text
	}
	return name + ": " + text
}

// waitsFor returns what has to happen to Nodes yet, empty for nothing.
func (r *Run) waitsFor(w *World, p *nodes.Progress, since time.Time) string {
	var names []string
	for _, n := range p.Nodes {
		if r.isPending(w, &n, since) {
			names = append(names, quote.Plain(n.Node.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "Nodes that are not decided: " + quote.Some(names, mostWaiting)
}

// isPending reports whether something has to happen to a Node yet. What the framework does
// rests on what it asks, and it has to have asked since something was new. It deletes no Node that
// is ready.
func (r *Run) isPending(w *World, n *nodes.NodeProgress, since time.Time) bool {
	switch waits := nodestate.IsUninitialized(n.Node); {
	case n.Pending, r.asked.isSearching(n.Node.UID) && !nodestate.IsReady(n.Node) && !r.changes.isRemoved(n.Node.Name):
		return true
	case !w.Initializes:
		return false
	case waits:
		return n.Unplaced == nil && !r.changes.untaints(n.Node.Name, cloudproviderapi.TaintExternalCloudProvider)
	}
	return !r.asked.since(n.Node.UID, since)
}

// report makes the result of what is known, and of the Nodes as they are, nil if that is not known.
func (r *Run) report(w *World, incomplete string, is map[string]*v1.Node) *report {
	p, _ := w.Progress()
	out := &report{incomplete: incomplete, nodes: len(p.Nodes), foreign: p.Foreign}
	out.changed, out.warnings, out.refused = r.changes.all()
	if is != nil {
		out.compareWith(is)
	}
	if len(unread(w.States())) == 0 {
		out.endOutages()
	}
	for _, n := range p.Nodes {
		var why []string
		if n.Unplaced != nil && !out.changed[n.Node.Name].deleted {
			why = append(why, quote.Line(n.Unplaced.Error()))
		}
		if incomplete != "" && r.isPending(w, &n, time.Time{}) {
			why = append(why, "it is not decided")
		}
		if c := out.changed[n.Node.Name]; c.failure() != "" {
			why = append(why, c.failure())
		}
		if len(why) > 0 {
			out.problems = append(out.problems, problem{n.Node.Name, n.Node.UID, strings.Join(why, "; ")})
		}
	}
	slices.SortFunc(out.problems, func(a, b problem) int { return strings.Compare(a.name, b.name) })
	return out
}

// Print prints the result of Await, which has returned. The error says why the dry run does not
// show everything that would happen: ErrIncomplete if that is only that its time is over.
func (r *Run) Print(to io.Writer) error {
	result := r.result.Load()
	if result == nil {
		return ErrInterrupted
	}
	errs := []error{result.report.print(to), result.failure}
	if count, first := result.report.failures(); count > 0 {
		errs = append(errs, fmt.Errorf("%w (Nodes: %d); %s", errFailed, count, first))
	}
	if refused := result.report.refused; len(refused) > 0 {
		errs = append(errs, fmt.Errorf("%w: %s", errNotSent, quote.Some(refused, mostWaiting)))
	}
	err := quote.Errors(len(errs), errs...)
	if err == nil && result.report.incomplete != "" {
		return fmt.Errorf("%w: %s", ErrIncomplete, result.report.incomplete)
	}
	return err
}
