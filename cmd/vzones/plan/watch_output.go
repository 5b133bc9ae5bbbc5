package plan

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
)

// Values of Entry.Event.
const (
	predicted = "predicted"
	withdrawn = "withdrawn"
	observed  = "observed"
	summary   = "summary"
)

// Values of Observed.Verdict.
const (
	verdictAgrees    = "agrees"
	verdictDiffers   = "differs"
	verdictUndecided = "undecided"
)

// Entry is a line of the JSON output of plan --watch.
type Entry struct {
	Time time.Time `json:"time"`
	// Event is predicted (the daemon would make the change now, or would not because of a problem),
	// withdrawn (that has ended), observed (another program made a change) or summary.
	Event    string    `json:"event"`
	Node     string    `json:"node,omitempty"`
	VCenter  string    `json:"vcenter,omitempty"`
	Change   *Change   `json:"change,omitempty"`
	Observed *Observed `json:"observed,omitempty"`
	Summary  *Summary  `json:"summary,omitempty"`
}

// Observed is a change of a Node by another program.
type Observed struct {
	// Kind is that of a Change, or providerID or node.
	Kind  string `json:"kind"`
	Label string `json:"label,omitempty"`
	From  string `json:"from"`
	To    string `json:"to"`
	// Verdict is agrees, differs, or undecided if the daemon did not know its value. Expected is the value
	// after the daemon's action, and Why the reason for it.
	Verdict  string `json:"verdict"`
	Expected string `json:"expected"`
	Why      string `json:"why"`
}

func (o *Observed) property() property { return property{o.Kind, o.Label} }

// Summary is the result of plan --watch.
type Summary struct {
	Nodes int `json:"nodes"`
	// Observed counts the changes of other programs by verdict, and Pending the changes that the daemon would
	// make now by kind.
	Observed map[string]int `json:"observed"`
	Pending  map[string]int `json:"pending"`
}

// line returns an entry as a line of text.
func (e *Entry) line() string {
	at := e.Time.Format(time.TimeOnly) + " "
	what := func(kind, label string) string { return cmp.Or(world.Short(label), kind) }
	switch {
	case e.Summary != nil:
		o := e.Summary.Observed
		pending := 0
		for _, count := range e.Summary.Pending {
			pending += count
		}
		return fmt.Sprintf("%s%s. Changes of other programs: %d agree, %d differ, %d undecided. The daemon would make %s now.",
			at, cli.Count(e.Summary.Nodes, "Node"), o[verdictAgrees], o[verdictDiffers], o[verdictUndecided], cli.Count(pending, "change"))
	case e.Observed != nil:
		o := e.Observed
		text := fmt.Sprintf("%s%s: other wrote %s: %s → %s: %s", at, quote.Plain(e.Node), what(o.Kind, o.Label), cell(o.From), cell(o.To), o.Verdict)
		if o.Verdict != verdictAgrees {
			text += fmt.Sprintf(": vzones has %s: %s", cell(o.Expected), o.Why)
		}
		return text
	}
	c := e.Change
	verb := "would write"
	switch {
	case e.Event == withdrawn:
		verb = "would no longer write"
	case c.Action == "":
		verb = "would not write"
	}
	text := fmt.Sprintf("%s%s: vzones %s %s: %s → %s: %s", at, quote.Plain(e.Node), verb, what(c.Kind, c.Label), cell(c.Now), cell(cmp.Or(c.Then, c.Result)), c.Text)
	if by := cmp.Or(c.Undecided, c.By); by != "" {
		text += ", according to " + by
	}
	return text
}

// writeEntry prints an entry as a line.
func writeEntry(t *cli.Tool, format cli.Format, e Entry) error {
	if format != cli.JSON {
		return t.Write([]byte(e.line() + "\n"))
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return t.Write(append(cli.Escaped(data), '\n'))
}

// shadowMetrics serves the counts of a shadow in Prometheus's text format.
type shadowMetrics struct {
	// mu guards text.
	mu   sync.Mutex
	text []byte
}

func (m *shadowMetrics) set(s *shadow) {
	var b bytes.Buffer
	now := s.summary()
	b.WriteString("# HELP vsphere_ccm_shadow_nodes Nodes that are compared.\n# TYPE vsphere_ccm_shadow_nodes gauge\n")
	fmt.Fprintf(&b, "vsphere_ccm_shadow_nodes %d\n", now.Nodes)
	b.WriteString("# HELP vsphere_ccm_shadow_pending_changes Changes that vzones would make now.\n# TYPE vsphere_ccm_shadow_pending_changes gauge\n")
	for _, kind := range kinds {
		fmt.Fprintf(&b, "vsphere_ccm_shadow_pending_changes{kind=%q} %d\n", kind, now.Pending[kind])
	}
	b.WriteString("# HELP vsphere_ccm_shadow_observed_changes_total Changes of other programs by verdict.\n# TYPE vsphere_ccm_shadow_observed_changes_total counter\n")
	for _, kind := range kinds {
		for _, verdict := range []string{verdictAgrees, verdictDiffers, verdictUndecided} {
			fmt.Fprintf(&b, "vsphere_ccm_shadow_observed_changes_total{kind=%q,verdict=%q} %d\n", kind, verdict, s.verdicts[verdictKey{kind, verdict}])
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text = b.Bytes()
}

// kinds are the kinds of changes that a cloud controller manager makes.
var kinds = []string{"addresses", "instanceType", "label", kindNode, kindProviderID, "taint"}

func (m *shadowMetrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write(m.text) // The client is gone.
}

// serveMetrics serves metrics at the returned address until stop is called. An address without a host is on the loopback interface.
func serveMetrics(ctx context.Context, address string, m *shadowMetrics) (at string, stop func(), err error) {
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("--metrics-address: %w", err)
	}
	server := &http.Server{Handler: m, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(listener) })
	return listener.Addr().String(), func() { _ = server.Close(); done.Wait() }, nil
}
