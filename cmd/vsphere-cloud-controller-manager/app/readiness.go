package app

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"vzones/vcenter"
	"vzones/vcenter/inventory"
)

// verboseReadyPath is the path of /readyz?verbose, which needs a permission of its own. /readyz is open
// to everyone, by the framework's flags and by Kubernetes' role for the public
// (system:public-info-viewer); Kubernetes' role for monitoring (system:monitoring) allows this path.
const verboseReadyPath = "/readyz/verbose"

// A readyHandler answers /readyz: 200 once each vCenter was either read or has failed, or while
// another instance leads. A vCenter that fails never makes the daemon unready, since a restart
// would not help it. The response is open to everyone, so it names no vCenter.
type readyHandler struct {
	// leading is closed when this instance leads.
	leading <-chan struct{}
	// health returns the current health of each vCenter.
	health func() []vcenter.Health
	// isRefused reports whether the configuration in the source is rejected, so that the previous one
	// is in force. It may be nil.
	isRefused func() bool
}

// ServeHTTP answers in one line.
func (h *readyHandler) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	code, text, _ := h.status()
	writePlain(w, code, text+"\n")
}

// serveVerbose answers as /readyz does, and then names each vCenter with its state and the cause of a
// failure, and a rejected configuration. The errors are in the log.
func (h *readyHandler) serveVerbose(w http.ResponseWriter, _ *http.Request) {
	code, text, vcenters := h.status()
	var b strings.Builder
	fmt.Fprintln(&b, text)
	for i := range vcenters {
		fmt.Fprintf(&b, "vcenter %s: %s\n", vcenters[i].VCenter, healthText(&vcenters[i]))
	}
	if h.isRefused != nil && h.isRefused() {
		b.WriteString("configuration: the changed configuration is refused, the previous one stays in force\n")
	}
	writePlain(w, code, b.String())
}

// status returns the HTTP status, its meaning, and the health of the vCenters.
func (h *readyHandler) status() (int, string, []vcenter.Health) {
	select {
	case <-h.leading:
	default:
		return http.StatusOK, "ok: standing by, another instance leads or the API server is waited for", nil
	}
	vcenters := h.health()
	for i := range vcenters {
		if v := &vcenters[i]; v.Snapshot == nil && v.Err == nil {
			return http.StatusServiceUnavailable, "not ready: some vCenters have neither been read nor failed yet", vcenters
		}
	}
	return http.StatusOK, "ok", vcenters
}

func writePlain(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
}

// healthText describes the state of a vCenter. A failure ends with its cause, which is one of a closed
// set: an error may contain a user name, an address or a path, which only the log may show.
func healthText(h *vcenter.Health) string {
	next := ""
	if left := time.Until(h.NextLogin).Round(time.Second); left > 0 {
		next = fmt.Sprintf(", next login in %v", left)
	}
	switch {
	case h.Err != nil && h.Snapshot == nil:
		return "down, never read" + next + ": " + h.Cause.Error()
	case h.Err != nil && h.Cause == inventory.CausePending:
		return fmt.Sprintf("being read again, last answer %v ago", time.Since(h.LastContact).Round(time.Second))
	case h.Err != nil:
		return fmt.Sprintf("down, last answer %v ago%s: %s", time.Since(h.LastContact).Round(time.Second), next, h.Cause)
	case h.Snapshot == nil && h.Answered:
		return "connecting: its VMs are being read"
	case h.Snapshot == nil:
		return "connecting: no answer yet"
	case h.Snapshot.Incomplete != nil:
		return "synced, but not all of its VMs can be seen: datacenter not found"
	case h.CredentialsErr != nil:
		return "synced, in a session that cannot be renewed: " + inventory.CauseCredentials.Error()
	case h.Rejected && h.Tags == vcenter.TagsFailed:
		return "synced, but its tags cannot be read: " + inventory.CauseRejected.Error()
	case h.Rejected:
		return "synced, in a session that cannot be renewed: " + inventory.CauseRejected.Error()
	}
	return "synced"
}
