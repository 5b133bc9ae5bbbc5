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

// Options are what a watch does, and how. They do not change while it runs.
type Options struct {
	// VCenter is the name of the vCenter.
	VCenter string
	// Datacenters are the configured ones, all if empty.
	Datacenters []string
	// Requirements are what is read besides machines. The tags that are read are those that the inbox requires.
	Requirements

	// Timeout is that of a call. TagRefresh is the time between two readings of tags,
	// TagRetry the least one after a failure. PollTime is how long the server may hold
	// a poll open, FirstPage the least wait for the first page.
	Timeout, TagRefresh, TagRetry, PollTime, FirstPage time.Duration

	// Guard turns panics into errors.
	Guard *faults.Guard
	// Slots bound the searches in flight.
	Slots Slots
}

// A Watch follows the changes of one vCenter through one session, once. One goroutine has it,
// that of the model while it runs; the others have a part each, which exchanges messages with
// it.
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
	// names finds machines by name.
	names *nameLookup
	// clusters reads the configurations of clusters where the filter does not.
	clusters *clusterReader
	tags     *tagSchedule
	tagLoop  *tagLoop
	poller   *poller
	alarm    *alarm
	prober   *prober
	homes    *homeAsker
	// homeReplies is what the vCenter said of machines that it does not show.
	homeReplies homeReplies

	progress progress
	// partial reports whether further pages of a change are to come: until then the model may show
	// a machine half moved.
	partial bool
	// behind reports whether the poller rests, so that the model may lack changes of VMs without a Node. waiting is
	// closed when it is not behind any more.
	behind  bool
	waiting []chan<- struct{}
	// interest is that of the inbox, but none that has come while the model is behind.
	interest *Interest
	// unpublished reports whether something is not published yet.
	unpublished bool
	// contact is when the vCenter last answered, logged when the progress of a long
	// reading was last logged.
	contact, logged time.Time
}

// New returns a watch. Memory is what the watch before has left; the inbox says whose
// machines' details are wanted. It makes no request until Run.
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
		datacenters: newDatacenters(opts.VCenter, opts.Datacenters, about.RootFolder),
		details:     &detailList{session: s, hosts: filtered, model: m, listed: map[string]*listing{}, refused: map[string]time.Time{}},
		names:       &nameLookup{views: v},
		clusters:    &clusterReader{session: s, tree: m.Tree, enabled: hosts.Groups && memory.separateClusters},
		tags:        newTagSchedule(),
		logged:      time.Now(), progress: progress{began: time.Now()},
	}
	w.tagLoop = &tagLoop{
		session: s, reader: reader, inbox: inbox, reporter: reporter, wanted: w.tags.wanted, found: w.tags.found,
		refresh: opts.TagRefresh, retryMin: opts.TagRetry,
	}
	changes := feed{session: s, pollTime: opts.PollTime, timeout: opts.Timeout, firstPage: opts.FirstPage, objects: updatesPerPage}
	w.alarm = &alarm{
		feed: changes, armed: signal.New(), trigger: inbox.poll,
		create: func(ctx context.Context) (types.ManagedObjectReference, error) {
			return v.newDetailCollector(ctx, w.details.view)
		},
	}
	w.poller = &poller{
		feed: changes, views: v, alarm: w.alarm,
		arrived: make(chan struct{}), updates: make(chan *types.UpdateSet), rests: make(chan struct{}), hurry: signal.New(), soon: inbox.poll,
	}
	w.prober = &prober{session: s, asked: inbox.probe, answered: make(chan time.Time), every: opts.PollTime, arrived: w.poller.arrived}
	w.homes = &homeAsker{
		session: s, slots: opts.Slots, questions: &inbox.homes, catchUp: inbox.CatchUp,
		replies: make(chan map[string]inventory.Reply), unanswered: map[string]bool{},
	}
	w.homeReplies = homeReplies{}
	return w
}

// Run follows the vCenter until that breaks or the context is done. Its goroutines end with
// it. A [Restart] says that it has to begin again, though nothing is wrong.
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
	run("waiting for changes of Nodes' VMs", w.alarm.run)
	if w.opts.Tags {
		run("reading tags", w.tagLoop.run)
	}
	run("asking whether it answers", w.prober.run)
	run("asking about machines that are not shown", w.homes.run)
	run("applying changes", w.follow)
	err := g.Wait()
	if w.progress.phase >= syncing && !faults.Recovered(err) {
		w.memory.model = w.model
	}
	return w.clusters.separate(ctx, err, w.hosts.Groups, w.memory)
}

// begin makes the collector, the views and the filters. What an earlier watch of the session
// has left is destroyed first.
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
	// The filter over details is the first: the simulator reports a list that has changed
	// once for it and once more for each filter before it.
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

// A Publication is a snapshot, when the vCenter answered that had reported everything in it,
// and how old the names of its tags are.
type Publication struct {
	Snapshot    *inventory.Snapshot
	LastContact time.Time
	TagNames    inventory.TagNames
}

// A Reporter gets what a watch finds out. It may be called from several goroutines. No method
// blocks longer than until the context is done.
type Reporter interface {
	// Publish is called with each snapshot.
	Publish(ctx context.Context, p Publication)
	// Started is called when everything that the watch needs on the server is there.
	Started()
	// Contact is called when the vCenter has answered and the last snapshot is of then,
	// too. Probed reports whether that was asked for.
	Contact(ctx context.Context, at time.Time, probed bool)
	// TagNames is called when the names of tags in the last snapshot were read again.
	TagNames(ctx context.Context, named inventory.TagNames)
	// TagsRead is called with the outcome of each reading of tags.
	TagsRead(ctx context.Context, err error)
	// CredentialsRejected is called when the tagging API rejects the credentials.
	CredentialsRejected()
}

// A Restart is the error of a watch that has to begin again although nothing failed. It contains what has
// changed. The caller of Run has others than DatacentersChanged.
type Restart string

// DatacentersChanged is for views of other datacenters than configured.
const DatacentersChanged Restart = "a configured datacenter has come, gone or been renamed"

func (r Restart) Error() string { return "something has changed: " + string(r) }

// A Memory is what a watch leaves to the next one of the same vCenter. It belongs to the
// watch that runs, and to who runs watches between two of them.
type Memory struct {
	// model is that of the last watch that had the index in whole.
	model *model.Model
	// missingDatacenters is what was last logged about configured datacenters that are
	// not there.
	missingDatacenters string
	// separateClusters reports whether the configurations of clusters are read one by one.
	separateClusters bool
}

// NewMemory returns the memory of a vCenter that was never watched.
func NewMemory() *Memory { return &Memory{} }

// Machines returns how many machines the vCenter had when it was last watched, zero if it never
// was.
func (m *Memory) Machines() int {
	if m.model == nil {
		return 0
	}
	return m.model.Len()
}
