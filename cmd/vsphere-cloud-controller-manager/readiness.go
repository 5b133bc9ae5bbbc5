package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"vzones/vcenter/inventory"
)

// readiness answers /readyz: 200 once each vCenter was either read or is known
// to be in trouble, or while another instance leads, unless this one is a warm standby.
// A vCenter in trouble never
// makes the daemon unready, since a restart would not help it. The answer names
// each vCenter and its state and says no more, for it is open to everyone.
type readiness struct {
	leads <-chan struct{}
	// warm reports whether the vCenters are followed before it leads.
	warm   bool
	states func() []inventory.State
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	word := "ok"
	select {
	case <-r.leads:
	default:
		word = "ok: standing by, another instance leads or the API server is waited for"
		if !r.warm {
			fmt.Fprintln(w, word)
			return
		}
	}
	var b strings.Builder
	ready := true
	for _, s := range r.states() {
		fmt.Fprintf(&b, "vcenter %s: %s\n", s.VCenter, condition(s))
		ready = ready && (s.Snapshot != nil || s.Trouble != nil)
	}
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "not ready: some vCenters have neither been read nor failed yet\n", b.String())
		return
	}
	fmt.Fprint(w, word, "\n", b.String())
}

func condition(s inventory.State) string {
	next := ""
	if left := time.Until(s.NextLogin).Round(time.Second); left > 0 {
		next = fmt.Sprintf(", next login in %v", left)
	}
	switch {
	case s.Trouble != nil && s.Snapshot == nil:
		return "down, never read" + next
	case s.Trouble != nil:
		return fmt.Sprintf("down, last answer %v ago%s", time.Since(s.Contact).Round(time.Second), next)
	case s.Snapshot == nil:
		return "connecting"
	case s.Snapshot.Incomplete != nil:
		return "synced, but not all of its machines can be seen"
	}
	return "synced"
}
