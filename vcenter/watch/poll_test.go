package watch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/internal/signal"
	"vzones/vcenter/watch/model"
)

// A pollServer answers the polls of two collectors.
type pollServer struct {
	Session
	pages map[string]chan *types.UpdateSet
	// polls has the times of the poller's polls.
	polls []time.Time
}

func (s *pollServer) LongPoll(time.Duration) *vim25.Client { return &vim25.Client{RoundTripper: s} }

func (s *pollServer) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	poll := req.(*methods.WaitForUpdatesExBody).Req
	if poll.This.Value == "all" {
		s.polls = append(s.polls, time.Now())
	}
	body := res.(*methods.WaitForUpdatesExBody)
	body.Res = &types.WaitForUpdatesExResponse{}
	select {
	case body.Res.Returnval = <-s.pages[poll.This.Value]:
	case <-time.After(time.Duration(*poll.Options.MaxWaitSeconds) * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// After a change of VMs without a Node, the next poll comes as late as without the change, unless
// something requests it. After any other change it comes at once.
func TestTimeOfTheNextPoll(t *testing.T) {
	const pollTime = 25 * time.Second
	page := func(filters ...string) *types.UpdateSet {
		p := &types.UpdateSet{Version: "1"}
		for _, f := range filters {
			p.FilterSet = append(p.FilterSet, types.PropertyFilterUpdate{Filter: types.ManagedObjectReference{Type: "PropertyFilter", Value: f}})
		}
		return p
	}
	truncated := func(p *types.UpdateSet) *types.UpdateSet {
		p.Truncated = types.NewBool(true)
		return p
	}
	none := func(*poller, *pollServer) {}
	for name, c := range map[string]struct {
		// meanwhile runs one second after the pages, if the next poll has not come yet.
		pages     []*types.UpdateSet
		meanwhile func(*poller, *pollServer)
		want      time.Duration
	}{
		"of other VMs":              {[]*types.UpdateSet{page("index")}, none, pollTime},
		"of other VMs' names":       {[]*types.UpdateSet{page("names")}, none, pollTime},
		"of a Node's VM":            {[]*types.UpdateSet{page("details")}, none, 0},
		"of both":                   {[]*types.UpdateSet{page("index", "details")}, none, 0},
		"of both, on several pages": {[]*types.UpdateSet{truncated(page("index")), truncated(page("details")), page("index")}, none, 0},
		"of a datacenter":           {[]*types.UpdateSet{page("datacenters")}, none, 0},
		"of other VMs, then of a Node's VM": {[]*types.UpdateSet{page("index")}, func(_ *poller, s *pollServer) {
			s.pages["nodes"] <- page("alarm")
		}, time.Second},
		"of other VMs, then a Node joins": {[]*types.UpdateSet{page("index")}, func(p *poller, _ *pollServer) { p.endPause.Notify() }, time.Second},
		"of other VMs, then details are waited for": {[]*types.UpdateSet{page("index")}, func(p *poller, _ *pollServer) {
			p.pollNow.Notify()
		}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &pollServer{pages: map[string]chan *types.UpdateSet{"all": make(chan *types.UpdateSet), "nodes": make(chan *types.UpdateSet)}}
				v := newViews(server, model.HostFacts{})
				for name, set := range map[string]filters{"index": v.index, "details": v.details, "datacenters": v.datacenters} {
					set[types.ManagedObjectReference{Type: "PropertyFilter", Value: name}] = true
				}
				changes := feed{session: server, pollTime: pollTime, timeout: time.Second, pageSize: updatesPerPage}
				soon := signal.New()
				a := &alarm{feed: changes, arm: signal.New(), trigger: soon, create: func(context.Context) (types.ManagedObjectReference, error) {
					return types.ManagedObjectReference{Type: "PropertyCollector", Value: "nodes"}, nil
				}}
				p := &poller{feed: changes, views: v, alarm: a, arrived: make(chan struct{}), updates: make(chan *types.UpdateSet), pauses: make(chan struct{}, 10), pollNow: signal.New(), endPause: soon}
				p.collector = types.ManagedObjectReference{Type: "PropertyCollector", Value: "all"}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 2)
				go func() { ended <- p.run(ctx) }()
				go func() { ended <- a.run(ctx) }()
				deliver := func(all ...*types.UpdateSet) {
					for _, page := range all {
						server.pages["all"] <- page
						<-p.updates
					}
				}
				deliver(page("index"))
				synctest.Wait()
				deliver(c.pages...)
				began := time.Now()
				time.Sleep(time.Second)
				synctest.Wait()
				if c.want > 0 {
					c.meanwhile(p, server)
				}
				time.Sleep(pollTime)
				synctest.Wait()
				// One poll for the initial read, and one per page.
				next := 1 + len(c.pages)
				if len(server.polls) <= next {
					t.Fatalf("no poll in %v", time.Since(began))
				}
				if took := server.polls[next].Sub(began); took != c.want {
					t.Errorf("the next poll comes after %v, want %v", took, c.want)
				}
				cancel()
				for range 2 {
					if err := <-ended; !errors.Is(err, context.Canceled) {
						t.Errorf("ended with %v", err)
					}
				}
			})
		})
	}
}
