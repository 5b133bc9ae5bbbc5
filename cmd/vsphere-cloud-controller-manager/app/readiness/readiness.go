// Package readiness answers /readyz. It never makes the daemon unready for a vCenter that
// fails, and it never says to everyone which vCenters there are.
package readiness

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"vzones/vcenter/inventory"
)

// VerbosePath is the path of /readyz?verbose, which needs a right of its own. /readyz is open
// to everyone, by the framework's flags and by Kubernetes' role for the public
// (system:public-info-viewer); Kubernetes' role for monitoring (system:monitoring) has this one.
const VerbosePath = "/readyz/verbose"

// A Handler answers /readyz: 200 once each vCenter was either read or has failed, or while
// another instance leads, unless this one is a warm standby. A vCenter that fails never makes
// the daemon unready, since a restart would not help it. The response is open to everyone, so
// it names no vCenter.
type Handler struct {
	// Leading is closed when this instance leads.
	Leading <-chan struct{}
	// WarmStandby is whether the vCenters are watched before it leads.
	WarmStandby bool
	// States returns the vCenters' states now.
	States func() []inventory.State
}

// ServeHTTP answers in one line.
func (h *Handler) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	code, text, _ := h.status()
	write(w, code, text+"\n")
}

// Verbose answers as /readyz does, and then names each vCenter and its state, without the
// error, which is in the log.
func (h *Handler) Verbose(w http.ResponseWriter, _ *http.Request) {
	code, text, states := h.status()
	var b strings.Builder
	fmt.Fprintln(&b, text)
	for _, s := range states {
		fmt.Fprintf(&b, "vcenter %s: %s\n", s.VCenter, condition(s))
	}
	write(w, code, b.String())
}

// status returns the HTTP status, what it means, and the states of the vCenters.
func (h *Handler) status() (int, string, []inventory.State) {
	text := "ok"
	select {
	case <-h.Leading:
	default:
		text = "ok: standing by, another instance leads or the API server is waited for"
		if !h.WarmStandby {
			return http.StatusOK, text, nil
		}
	}
	states := h.States()
	for _, s := range states {
		if s.Snapshot == nil && s.Err == nil {
			return http.StatusServiceUnavailable, "not ready: some vCenters have neither been read nor failed yet", states
		}
	}
	return http.StatusOK, text, states
}

func write(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// condition describes the state of a vCenter.
func condition(s inventory.State) string {
	next := ""
	if left := time.Until(s.NextLogin).Round(time.Second); left > 0 {
		next = fmt.Sprintf(", next login in %v", left)
	}
	switch {
	case s.Err != nil && s.Snapshot == nil:
		return "down, never read" + next
	case s.Err != nil:
		return fmt.Sprintf("down, last answer %v ago%s", time.Since(s.LastContact).Round(time.Second), next)
	case s.Snapshot == nil:
		return "connecting"
	case s.Snapshot.Incomplete != nil:
		return "synced, but not all of its machines can be seen"
	}
	return "synced"
}
