package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"vzones/vcenter/inventory"
)

// readiness answers /readyz: 200 once each vCenter was either read or is known
// to be in trouble, or while another instance leads, unless this one is a warm standby.
// A vCenter in trouble never makes the daemon unready, since a restart would not help
// it. The answer is open to everyone, so it names no vCenter.
type readiness struct {
	leads <-chan struct{}
	// warm reports whether the vCenters are followed before it leads.
	warm   bool
	states func() []inventory.State
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	code, answer, _ := r.answer()
	write(w, code, answer+"\n")
}

// verbose answers as /readyz does, and then names each vCenter and its state. It says
// no more: what is wrong is in the log.
func (r *readiness) verbose(w http.ResponseWriter, _ *http.Request) {
	code, answer, states := r.answer()
	var b strings.Builder
	fmt.Fprintln(&b, answer)
	for _, s := range states {
		fmt.Fprintf(&b, "vcenter %s: %s\n", s.VCenter, condition(s))
	}
	write(w, code, b.String())
}

// answer returns the status, what it means, and the vCenters that are followed.
func (r *readiness) answer() (int, string, []inventory.State) {
	word := "ok"
	select {
	case <-r.leads:
	default:
		word = "ok: standing by, another instance leads or the API server is waited for"
		if !r.warm {
			return http.StatusOK, word, nil
		}
	}
	states := r.states()
	for _, s := range states {
		if s.Snapshot == nil && s.Trouble == nil {
			return http.StatusServiceUnavailable, "not ready: some vCenters have neither been read nor failed yet", states
		}
	}
	return http.StatusOK, word, states
}

func write(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
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
