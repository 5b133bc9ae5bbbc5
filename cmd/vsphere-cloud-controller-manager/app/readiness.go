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

// verboseReadyPath is the path of /readyz?verbose, which needs a permission: system:monitoring contains it,
// system:public-info-viewer does not.
const verboseReadyPath = "/readyz/verbose"

// A readyHandler serves /readyz: 200 once each vCenter was either read or has failed, or while another
// instance leads. A failing vCenter never makes the daemon unready, since a restart would not help. The
// response is public and names no vCenter.
type readyHandler struct {
	// leading is closed when this instance leads.
	leading <-chan struct{}
	health  func() []vcenter.Health
	// isRejected reports whether the configuration in the source is rejected; optional.
	isRejected func() bool
}

func (h *readyHandler) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	code, text, _ := h.status()
	writePlain(w, code, text+"\n")
}

// serveVerbose adds the state of each vCenter, and whether the configuration is rejected.
func (h *readyHandler) serveVerbose(w http.ResponseWriter, _ *http.Request) {
	code, text, vcenters := h.status()
	var b strings.Builder
	fmt.Fprintln(&b, text)
	for i := range vcenters {
		fmt.Fprintf(&b, "vcenter %s: %s\n", vcenters[i].VCenter, healthText(&vcenters[i]))
	}
	if h.isRejected != nil && h.isRejected() {
		b.WriteString("configuration: the changed configuration is rejected, the previous one stays in force\n")
	}
	writePlain(w, code, b.String())
}

func (h *readyHandler) status() (int, string, []vcenter.Health) {
	select {
	case <-h.leading:
	default:
		return http.StatusOK, "ok: standing by: another instance leads, or the API server has not answered yet", nil
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

// healthText describes the state of a vCenter. The cause of a failure is from a closed set, since an
// error may contain a user name, an address or a path, which only the log may show.
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
		return "synced, but not all of its VMs are visible: datacenter not found"
	case h.CredentialsErr != nil:
		return "synced, in a session that cannot be renewed: " + inventory.CauseCredentials.Error()
	case h.Rejected && h.Tags == vcenter.TagsFailed:
		return "synced, but its tags cannot be read: " + inventory.CauseRejected.Error()
	case h.Rejected:
		return "synced, in a session that cannot be renewed: " + inventory.CauseRejected.Error()
	}
	return "synced"
}
