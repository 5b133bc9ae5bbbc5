package watch

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/internal/signal"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch/model"
)

// Options configure a watch.
type Options struct {
	VCenter string
	// Datacenters are the configured entries, all datacenters if empty.
	Datacenters []string
	// Categories and Paths may be outdated: the inbox has the current ones.
	Requirements

	// Timeout is the deadline of a call, TagRetry the minimum time to the next read of tags after a
	// failure. See feed for PollTime and FirstPage.
	Timeout, TagRefresh, TagRetry, PollTime, FirstPage time.Duration

	Guard *faults.Guard
	Slots Slots
}

// A Watch runs once. The model goroutine owns its fields. Every other goroutine owns one of its
// parts.
type Watch struct {
	opts     Options
	session  Session
	inbox    *Inbox
	reporter Reporter
	memory   *Memory

	model       *model.Model
	hosts       model.HostFacts
	views       *views
	datacenters *datacenters
	details     *detailList
	names       *nameLookup
	clusters    *clusterReader
	tags        *tagSchedule
	tagLoop     *tagLoop
	poller      *poller
	alarm       *alarm
	prober      *prober
	homes       *homeAsker
	homeReplies homeReplies

	progress progress
	// partial is set while more pages of a change follow.
	partial bool
	// behind is set while polling pauses: the model may lack changes of VMs without a Node.
	// catchUps are closed afterwards.
	behind   bool
	catchUps []chan<- struct{}
	// interest does not change while the model is behind.
	interest *Interest
	// unpublished is set if the last snapshot is out of date.
	unpublished                  bool
	lastContact, lastProgressLog time.Time
}

// New returns a watch that continues from memory.
func New(s Session, reader TagReader, inbox *Inbox, memory *Memory, opts Options, reporter Reporter) *Watch {
	about := s.Client().ServiceContent
	m := model.New(opts.VCenter, about, memory.model)
	hosts := model.HostFacts{Groups: opts.HostGroups, Domains: opts.FaultDomains}
	filtered := hosts
	filtered.Groups = hosts.Groups && !memory.separateClusters
	v := newViews(s, filtered)
	w := &Watch{
		opts: opts, session: s, inbox: inbox, reporter: reporter, memory: memory,
		model: m, hosts: hosts, views: v,
		datacenters:     newDatacenters(opts.VCenter, opts.Datacenters, about.RootFolder),
		details:         &detailList{session: s, hosts: filtered, model: m, listed: map[string]*listing{}, rejected: map[string]time.Time{}},
		names:           &nameLookup{views: v},
		clusters:        &clusterReader{session: s, tree: m.Tree, enabled: hosts.Groups && memory.separateClusters},
		tags:            newTagSchedule(),
		lastProgressLog: time.Now(), progress: progress{startedAt: time.Now()},
	}
	w.tagLoop = &tagLoop{
		session: s, reader: reader, inbox: inbox, reporter: reporter, wanted: w.tags.wanted, found: w.tags.found,
		refresh: opts.TagRefresh, retryMin: opts.TagRetry,
	}
	changes := feed{session: s, pollTime: opts.PollTime, timeout: opts.Timeout, firstPage: opts.FirstPage, pageSize: updatesPerPage}
	w.alarm = &alarm{
		feed: changes, arm: signal.New(), trigger: inbox.endPause,
		create: func(ctx context.Context) (types.ManagedObjectReference, error) {
			return v.newDetailCollector(ctx, w.details.view)
		},
	}
	w.poller = &poller{
		feed: changes, views: v, alarm: w.alarm,
		arrived: make(chan struct{}), updates: make(chan *types.UpdateSet), pauses: make(chan struct{}), pollNow: signal.New(), endPause: inbox.endPause,
	}
	w.prober = &prober{session: s, requested: inbox.probe, answered: make(chan time.Time), interval: opts.PollTime, arrived: w.poller.arrived}
	w.homes = &homeAsker{
		session: s, slots: opts.Slots, questions: &inbox.homes, catchUp: inbox.CatchUp,
		replies: make(chan map[string]inventory.Reply), unanswered: map[string]bool{},
	}
	w.homeReplies = homeReplies{}
	return w
}

// Run watches the vCenter until an error or the end of the context. All its goroutines end before
// it returns.
func (w *Watch) Run(ctx context.Context) error {
	return w.session.Classify(w.run(ctx))
}

func (w *Watch) run(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	w.reporter.Started()
	g, ctx := errgroup.WithContext(ctx)
	guard := w.opts.Guard
	run := func(what string, f func(context.Context) error) {
		g.Go(func() error { return guard.Run(ctx, what, func() error { return f(ctx) }) })
	}
	run("waiting for changes", w.poller.run)
	run("waiting for changes to Nodes' VMs", w.alarm.run)
	if w.opts.Tags {
		run("reading tags", w.tagLoop.run)
	}
	run("probing the vCenter", w.prober.run)
	run("checking VMs that are not visible", w.homes.run)
	run("applying changes", w.runModel)
	err := g.Wait()
	if w.progress.phase >= syncing && !faults.Recovered(err) {
		w.memory.model = w.model
	}
	return w.clusters.separate(ctx, err, w.hosts.Groups, w.memory)
}

func (w *Watch) begin(ctx context.Context) error {
	if err := w.session.DestroyAll(ctx); err != nil {
		return err
	}
	if err := w.datacenters.find(ctx, w.session); err != nil {
		return err
	}
	w.memory.missingDatacenters = w.datacenters.log(ctx, w.memory.missingDatacenters)
	if err := w.views.begin(ctx); err != nil {
		return err
	}
	w.poller.collector = w.views.collector
	// The detail filter is first: the simulator reports a changed list again for each filter before it.
	if err := w.details.create(ctx); err != nil {
		return err
	}
	if err := w.views.watchDetails(ctx, w.details.view); err != nil {
		return err
	}
	if err := w.views.watchIndex(ctx, w.datacenters.roots); err != nil {
		return err
	}
	if len(w.opts.Datacenters) > 0 {
		return w.views.watchDatacenters(ctx)
	}
	return nil
}

// A Publication is a snapshot, the time of the last answer it includes, and the age of its tag names.
type Publication struct {
	Snapshot    *inventory.Snapshot
	LastContact time.Time
	TagNames    inventory.TagNames
}

// A Reporter receives the results of a watch. It must be safe for concurrent use, and its methods
// must return when the context is done.
type Reporter interface {
	Publish(ctx context.Context, p Publication)
	// Started is called once all objects of the watch exist on the server.
	Started()
	// Contact is called when the vCenter answers, if the last snapshot is up to date. probed reports
	// whether it answered a probe.
	Contact(ctx context.Context, at time.Time, probed bool)
	TagNames(ctx context.Context, tagNames inventory.TagNames)
	TagsRead(ctx context.Context, err error)
	// CredentialsRejected is called when the tagging API rejects the credentials.
	CredentialsRejected()
}

// A Restart is the reason why a watch ended without a failure.
type Restart string

// DatacentersChanged means that the configured entries match other datacenters.
const DatacentersChanged Restart = "a configured datacenter was added, removed or renamed"

func (r Restart) Error() string { return "restart needed: " + string(r) }

// A Memory passes state from one watch of a vCenter to the next. The running watch owns it.
type Memory struct {
	model              *model.Model
	missingDatacenters string
	separateClusters   bool
}

// NewMemory returns the memory of a vCenter that was never watched.
func NewMemory() *Memory { return &Memory{} }

// VMs returns the number of VMs in the last model.
func (m *Memory) VMs() int {
	if m.model == nil {
		return 0
	}
	return m.model.Len()
}
