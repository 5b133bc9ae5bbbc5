package vcenter

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/vcenter/inventory"
	"vzones/vcenter/vcentertest"
	"vzones/vcenter/watch"
)

// absenceRequests holds back the requests that confirm an absence, at a front.
type absenceRequests struct {
	mu      sync.Mutex
	held    int
	arrived chan struct{}
	release chan struct{}
}

func holdAbsence(f *vcentertest.Front) *absenceRequests {
	a := &absenceRequests{arrived: make(chan struct{}, 100), release: make(chan struct{})}
	f.Answer(func(_ http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "FindAllByUuid") && !strings.Contains(body, "config.template</pathSet>") {
			return false
		}
		a.mu.Lock()
		a.held++
		a.mu.Unlock()
		select {
		case a.arrived <- struct{}{}:
		default:
		}
		select {
		case <-a.release:
		case <-r.Context().Done():
		}
		return false
	})
	return a
}

// await waits until so many requests are held, none of which was answered.
func (a *absenceRequests) await(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		select {
		case <-a.arrived:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%d requests side by side, want %d", i, n)
		}
	}
}

// TestAbsenceIsAskedSideBySide: each form of the UUID, and for the object that the
// machine was, so that an answer takes as long as the slowest of them.
func TestAbsenceIsAskedSideBySide(t *testing.T) {
	t.Parallel()
	sim, f, cfg := vcentertest.EastBehindFront(t)
	w := follow(t, sim, cfg, FromFile, Options{})
	w.until("read", func(states []inventory.State) bool { return states[0].Snapshot != nil })
	nobody := identity(t, stranger)
	nobody.UUIDs = append(nobody.UUIDs, nobody.UUIDs[0].Swapped())
	a := holdAbsence(f)
	done := make(chan error, 1)
	go func() { done <- w.fleet.ConfirmAbsent(w.ctx, known(nobody, "east", "vm-99999")) }()
	a.await(t, 3)
	close(a.release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestConfirmationsLeaveRoom: however many absences are confirmed at a time, the vCenter
// has no more of their requests in flight than four, and others are not held up by them.
func TestConfirmationsLeaveRoom(t *testing.T) {
	t.Parallel()
	sim, f, cfg := vcentertest.EastBehindFront(t)
	w := follow(t, sim, cfg, FromFile, Options{})
	w.until("read", func(states []inventory.State) bool { return states[0].Snapshot != nil })
	nobody := identity(t, stranger)
	nobody.UUIDs = append(nobody.UUIDs, nobody.UUIDs[0].Swapped())
	a := holdAbsence(f)
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			if err := w.fleet.ConfirmAbsent(w.ctx, known(nobody, "east", "vm-99999")); err != nil {
				t.Error(err)
			}
		})
	}
	a.await(t, cap(watch.NewSlots()))
	before := w.fleet.States()[0].LastContact
	w.fleet.Probe("east")
	w.until("a probe is answered", func(states []inventory.State) bool { return states[0].LastContact.After(before) })
	a.mu.Lock()
	held := a.held
	a.mu.Unlock()
	if held != cap(watch.NewSlots()) {
		t.Errorf("%d requests in flight, want %d", held, cap(watch.NewSlots()))
	}
	close(a.release)
	running.Wait()
}
