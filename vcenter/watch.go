package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"

	"vzones/vcenter/inventory"
	"vzones/vcenter/panics"
	"vzones/vcenter/session"
)

const (
	// primeTime bounds the wait for the details of followed machines before the
	// first snapshot of a watch. Some may have none.
	primeTime = 5 * time.Second
)

// errAgain ends a watch that has to begin anew at once though nothing is wrong.
var errAgain = errors.New("something has changed")

// errMoved ends a watch whose views are of other datacenters than configured.
var errMoved = fmt.Errorf("%w: a configured datacenter has come, gone or been renamed", errAgain)

// disputeTime is how long a machine may be in the index that the vCenter says is
// not there. Its leaving should have been told by then.
const disputeTime = 2 * time.Second

// filters is a set of property filters.
type filters map[types.ManagedObjectReference]bool

// watch follows the changes of one vCenter through one session. Its goroutines
// end with run.
type watch struct {
	c *connection
	s *reader
	// tags says whether tags are read, facts what of hosts is.
	tags  bool
	facts hostFacts

	collector types.ManagedObjectReference
	// These are the filters whose updates tell of the machines of the views, of
	// the machines on the list and what is above them, and of the datacenters'
	// names.
	index, details, datacenters filters
	views                       []types.ManagedObjectReference
	list                        types.ManagedObjectReference

	model *model
	// known are the datacenters with their folders; roots are those of them
	// that the views were made for.
	known *tree
	roots []types.ManagedObjectReference
	// incomplete says which of the configured datacenters the views leave out.
	incomplete error
	// names are the machines that have the name of a Node without a UUID, of allNames.
	names    map[string][]inventory.NameEntry
	allNames nameWatch
	// seek is what finds machines where not all are watched, nil where all are.
	seek *seeker

	listed  map[string]bool
	missing map[string]bool // machines that the vCenter says it does not have
	// hearsay are machines that are on the list only since Nodes name them.
	hearsay map[string]bool
	// refused are the machines that no list view may have, and since when.
	refused  map[string]time.Time
	disputed <-chan time.Time
	untold   untold
	// postponed is when machines are put on the list that were not for want of time.
	postponed <-chan time.Time
	changed   bool // something is not published yet
	torn      bool // further pages of a change are to come
	renamed   bool // a page of the change told of datacenters
	complete  bool // the index has come in whole
	patient   bool // the details of followed machines are waited for
	primed    bool // a snapshot may be published
	primeBy   <-chan time.Time
	// arrived is closed by poll when the first page has come. published gets a token
	// from run with each snapshot until it has one; who follows events takes it.
	arrived, published chan struct{}
	// said is when the progress of a long reading was logged last.
	said time.Time
	// tagRefs are the objects whose tags were last asked for, in order.
	tagRefs   []types.ManagedObjectReference
	tagWanted chan []types.ManagedObjectReference
	// tagPaths are the inventory paths of these objects, for the log.
	tagPaths atomic.Pointer[map[types.ManagedObjectReference]string]
	tagged   chan tagReading
	// metadata has the machines' metadata read.
	metadata metadataReader
	// tagNames is how old the names of the model's tags are; reread says that this is
	// not published yet, or that somebody waits for it.
	tagNames inventory.Named
	reread   bool
	// tagsAsked are when changes of the inventory last had tags read, and tagsDue is
	// when further ones may, nil where there are none.
	tagsAsked []time.Time
	tagsDue   <-chan time.Time
	// eventsDue is when events have tags read, nil where none asks for it; eventsRead
	// is when they last had. lastEvent is the key of the last event.
	eventsDue  <-chan time.Time
	eventsRead time.Time
	lastEvent  int32
	// answered has a probe that the vCenter has answered, by when it was asked: it
	// may have hung since, and what it has to tell comes another way.
	answered chan time.Time
	// heard is when the vCenter last answered.
	heard time.Time
}

// watch begins a watch and follows it until it breaks or the context is done.
func (c *connection) watch(ctx context.Context, s *reader) error {
	target := c.target.Load()
	w := &watch{
		c: c, s: s, tags: target.tags, facts: target.facts,
		index: filters{}, details: filters{}, datacenters: filters{},
		model:     newModel(c.name, s.vim.ServiceContent, c.remembered),
		known:     newTree(s.vim.ServiceContent.RootFolder),
		listed:    map[string]bool{},
		missing:   map[string]bool{},
		refused:   map[string]time.Time{},
		arrived:   make(chan struct{}),
		published: make(chan struct{}, 1),
		said:      time.Now(),
		tagWanted: make(chan []types.ManagedObjectReference, 1),
		tagged:    make(chan tagReading),
		answered:  make(chan time.Time),
		metadata:  newMetadataReader(),
	}
	if c.cfg.Followed {
		w.seek = newSeeker(w.model, c.followed.Load())
	}
	if err := w.begin(ctx); err != nil {
		return s.Classify(err)
	}
	c.opts.observer.WatchStarted(c.name)
	updates := make(chan *types.UpdateSet)
	g, ctx := errgroup.WithContext(ctx)
	run := func(what string, f func(context.Context) error) {
		g.Go(func() error { return c.guard.Run(ctx, what, func() error { return f(ctx) }) })
	}
	run("waiting for changes", func(ctx context.Context) error { return w.poll(ctx, updates) })
	if w.tags {
		run("reading tags", func(ctx context.Context) error {
			defer func() { _ = s.Tagging().Wait() }() // whom it concerns asks again
			return w.readTags(ctx)
		})
		run("following tagging events", w.followEvents)
	}
	run("reading machines' metadata", w.readMetadata)
	if w.seek != nil {
		run("searching for machines", w.search)
	}
	run("asking whether it answers", w.answer)
	run("asking whether it answers while it loads", w.loadingProbes)
	run("renewing the session", w.renew)
	run("taking over changes", func(ctx context.Context) error { return w.run(ctx, updates) })
	err := g.Wait()
	if (w.complete && w.seek == nil || w.primed) && !panics.Recovered(err) {
		w.model.before = nil
		c.remembered = w.model
	}
	return s.Classify(err)
}

// begin makes the collector, the views and the filters. What an earlier watch
// of the session has left is destroyed first.
func (w *watch) begin(ctx context.Context) (err error) {
	s := w.s
	if err := s.DestroyAll(ctx); err != nil {
		return err
	}
	if w.roots, w.incomplete, err = s.roots(ctx, w.c.cfg.Datacenters); err != nil {
		return err
	}
	w.tellLacking(ctx)
	res, err := methods.CreatePropertyCollector(ctx, s.vim, &types.CreatePropertyCollector{This: s.vim.ServiceContent.PropertyCollector})
	if err != nil {
		return fmt.Errorf("making a property collector: %w", err)
	}
	w.collector = res.Returnval
	s.Track(w.collector, session.DestroyPropertyCollector)
	if w.seek != nil {
		if err := w.beginSeeking(ctx); err != nil {
			return err
		}
	}
	for _, root := range w.indexed() {
		view, err := s.containerView(ctx, root, "VirtualMachine")
		if err != nil {
			return fmt.Errorf("listing the machines of %s: %w", root.Value, err)
		}
		w.views = append(w.views, view)
		if err := w.filter(ctx, w.index, viewSpec(view, "VirtualMachine", indexProperties...)); err != nil {
			return err
		}
	}
	if len(w.c.cfg.Datacenters) > 0 {
		if err := w.watchDatacenters(ctx); err != nil {
			return err
		}
	}
	list, err := methods.CreateListView(ctx, s.vim, &types.CreateListView{This: *s.vim.ServiceContent.ViewManager})
	if err != nil {
		return fmt.Errorf("making a list view: %w", err)
	}
	w.list = list.Returnval
	s.Track(w.list, session.DestroyView)
	return w.watchDetails(ctx)
}

// watchDatacenters tells of datacenters that come, go or get another name.
func (w *watch) watchDatacenters(ctx context.Context) error {
	view, err := w.s.containerView(ctx, w.s.vim.ServiceContent.RootFolder, "Datacenter")
	if err != nil {
		return fmt.Errorf("listing datacenters: %w", err)
	}
	return w.filter(ctx, w.datacenters, datacenterSpec(view))
}

func (w *watch) filter(ctx context.Context, into filters, spec types.PropertyFilterSpec) error {
	res, err := methods.CreateFilter(ctx, w.s.vim, &types.CreateFilter{This: w.collector, Spec: spec})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	into[res.Returnval] = true
	return nil
}

// run owns the model: it takes over changes, keeps the list of followed
// machines, and publishes.
func (w *watch) run(ctx context.Context, updates <-chan *types.UpdateSet) error {
	again := time.NewTicker(w.c.opts.tagRefresh)
	defer again.Stop()
	for {
		select {
		case set := <-updates:
			if news, err := w.receive(ctx, set); err != nil {
				return err
			} else if !news {
				continue
			}
		case <-w.c.wake:
		case found := <-w.found():
			w.take(found)
		case asked := <-w.answered:
			if asked.After(w.heard) {
				w.heard = asked
			}
			if w.contact() {
				w.c.changed()
			}
			continue
		case reading := <-w.tagged:
			w.retagged(reading)
		case batch := <-w.metadata.read:
			w.tookMetadata(batch)
		case <-w.metadata.due:
		case <-w.postponed:
			w.postponed = nil
		case <-w.primeBy:
			w.patient, w.changed = false, true
		case <-w.tagsDue:
			w.tagsDue = nil
			w.readChanged()
			continue
		case <-w.eventsDue:
			w.eventsDue, w.eventsRead = nil, time.Now()
			w.want(w.tagRefs)
			continue
		case <-w.disputed:
			if err := w.dispute(ctx); err != nil {
				return err
			}
		case <-w.untold.due:
			if err := w.askForUntold(ctx); err != nil {
				return err
			}
		case <-again.C:
			// settle tries again what failed before
		case <-ctx.Done():
			return ctx.Err()
		}
		// Between two pages the model may show a machine half moved.
		if w.complete && !w.torn {
			if err := w.settle(ctx); err != nil {
				return err
			}
		}
	}
}

// receive takes over a page of changes, which may be nil, and reports whether there is
// anything that is not published yet.
func (w *watch) receive(ctx context.Context, set *types.UpdateSet) (news bool, err error) {
	w.heard = time.Now()
	told, err := w.apply(set)
	if err != nil {
		return false, err
	}
	w.progress(ctx)
	if w.complete && !told && !w.torn {
		if err := w.newNames(ctx); err != nil || !w.changed {
			w.contact()
			return false, err
		}
	}
	w.changed = true
	if !w.complete && !w.torn {
		w.complete, w.patient = true, true
		if w.seek == nil {
			w.model.completed()
		}
		w.primeBy = time.After(primeTime)
	}
	return true, nil
}

// contact notes that the vCenter has answered, unless there is something that the
// last snapshot does not have, such as the first page of a change, or all that has
// happened since the watch before this one: that snapshot is not of now.
func (w *watch) contact() bool {
	if !w.primed || w.torn || w.changed {
		return false // what is to be published tells of it
	}
	w.c.contact(w.heard)
	return true
}

// settle lets the list of followed machines and the wanted tags follow the
// model, and publishes what is known.
func (w *watch) settle(ctx context.Context) error {
	f := w.c.followed.Load()
	if err := w.lookUpNames(ctx, f); err != nil {
		return err
	}
	if err := w.choose(ctx, f); err != nil {
		return err
	}
	w.changed = w.model.summaries() || w.changed
	w.forgetUntold(f)
	w.changed = w.model.tell(f.told[w.c.name]) || w.changed
	out := w.outside(f)
	ids := w.model.wanted(f, w.names, out.left)
	if err := w.enlist(ctx, ids, out.told); err != nil {
		return err
	}
	if w.seek != nil {
		out = w.outside(f) // which only the details tell
	}
	w.haveMetadataRead()
	w.remarkOnGuests(ctx)
	above := w.model.above(w.model.eligible(slices.Concat(ids, out.told)), w.c.target.Load().paths)
	if w.tags {
		w.wantTags(above)
	}
	w.primed = w.primed || w.whole(ids, above)
	if w.primed && w.changed {
		w.changed = false
		snap := w.model.snapshot(slices.Concat(ids, out.told), out, w.names, w.why(), w.hosts())
		snap.Searched, snap.Coming = w.searched(), w.awaited(f)
		w.c.published(ctx, snap, w.heard, w.tagNames)
		w.reread = false
		token(w.published)
	}
	if w.primed && w.reread {
		w.reread = false
		w.c.renamed(w.tagNames)
	}
	return nil
}

// whole says whether everything that the first snapshot should have is there.
func (w *watch) whole(ids []string, above []types.ManagedObjectReference) bool {
	if w.seek != nil && !w.sought(w.c.followed.Load()) {
		return false
	}
	if w.patient && w.model.tree.unknownMetadata() {
		return false
	}
	for _, id := range ids {
		if w.patient && !w.model.has(id) && !w.missing[id] && w.refused[id].IsZero() {
			return false
		}
	}
	return !w.tags || !w.patient || len(above) == 0 || w.model.tags.Err != nil || w.model.tags.Covers(above)
}
