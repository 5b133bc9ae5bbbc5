package vcenter

import (
	"bytes"
	"context"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2/ktesting"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
)

// parses counts what is parsed, and where.
type parses struct {
	mu    sync.Mutex
	texts []string
	// inWatch is how often it was in the goroutine that takes over changes.
	inWatch int
	// hold is received from before a text with "hold" in it is parsed.
	hold chan struct{}
}

func (p *parses) parse(text string) ([]netip.Addr, error) {
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	p.mu.Lock()
	p.texts = append(p.texts, text)
	if bytes.Contains(stack, []byte("watch.(*Watch).follow(")) {
		p.inWatch++
	}
	p.mu.Unlock()
	if strings.Contains(text, "hold") {
		<-p.hold
	}
	return guestinfo.Addresses(text)
}

func (p *parses) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.texts)
}

// TestMetadataIsReadAside: nothing is parsed in the watch's goroutine, and nothing that
// has not changed. While a text is parsed the watch goes on, and says of that machine
// that its addresses may be others.
func TestMetadataIsReadAside(t *testing.T) {
	t.Parallel()
	sim, cfgs := vcentertest.Simulate(t, `
vcenters:
- name: east
  datacenters:
  - name: dc1
    tags: {region: east, zone: a}
    clusters: [{name: c1, hosts: 2}]
    vms: [{name: n1}, {name: n2}, {name: n3, extraConfig: {guestinfo.metadata: "network: {ethernets: {a: {addresses: [10.0.0.3]}}}"}}]
`)
	_, ctx := ktesting.NewTestContext(t)
	p := &parses{hold: make(chan struct{})}
	w := &world{T: t, ctx: ctx, sim: sim, cfgs: cfgs, fleet: NewFleet(cfgs, FromFile, slow)}
	w.fleet.opts.parseMetadata = p.parse
	w.changed = w.fleet.Subscribe()
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	running.Go(func() {
		if err := w.fleet.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer running.Wait()
	defer cancel()
	n1, n2, n3 := w.id("n1"), w.id("n2"), w.id("n3")
	w.fleet.Follow([]inventory.Identity{n1, n2, n3})
	if m := w.found(n3); m.Pending || !slices.Equal(m.Static, addrs("10.0.0.3")) {
		t.Errorf("the first snapshot has %v, pending %t", m.Static, m.Pending)
	}
	east := sim.VCenter("east")
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(east.SetExtraConfig("n1", guestinfo.Key, "hold: 1\nnetwork: {ethernets: {a: {addresses: [10.0.0.1]}}}"))
	w.until("n1 may have other addresses", func([]inventory.State) bool { return w.found(n1).Pending })
	change(east.SetExtraConfig("n3", guestinfo.Key, "network: {ethernets: {a: {addresses: [10.0.0.4]}}}"))
	change(east.MoveVM("n2", "c1-host-2"))
	w.until("n2 is on another host", func([]inventory.State) bool {
		return strings.HasSuffix(w.found(n2).Paths[0].Objects[0].Path, "c1-host-2")
	})
	w.until("n3 may have other addresses", func([]inventory.State) bool {
		m := w.found(n3)
		return m.Pending && slices.Equal(m.Static, addrs("10.0.0.3"))
	})
	close(p.hold)
	w.until("all are read", func([]inventory.State) bool {
		a, b := w.found(n1), w.found(n3)
		return !a.Pending && !b.Pending && slices.Equal(a.Static, addrs("10.0.0.1")) && slices.Equal(b.Static, addrs("10.0.0.4"))
	})
	read := p.count()
	if read != 3 {
		t.Errorf("%d texts were parsed: %q", read, p.texts)
	}
	change(east.MoveVM("n1", "c1-host-2"))
	east.EndSessions() // the next watch reads the machines again
	change(east.MoveVM("n3", "c1-host-2"))
	w.until("n3 is on another host", func([]inventory.State) bool {
		return strings.HasSuffix(w.found(n3).Paths[0].Objects[0].Path, "c1-host-2")
	})
	if n := p.count(); n != read {
		t.Errorf("%d texts were parsed that were the same: %q", n-read, p.texts[read:])
	}
	if p.inWatch != 0 {
		t.Errorf("%d texts were parsed in the watch's goroutine", p.inWatch)
	}
}
