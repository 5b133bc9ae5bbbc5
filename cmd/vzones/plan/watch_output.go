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
	// Kind is the Kind of a Change, or providerID or node.
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
	// Observed counts the changes of other programs by verdict, Pending the changes that the daemon would make now by
	// kind, and Unwritten the differences and problems that would stay.
	Observed  map[string]int `json:"observed"`
	Pending   map[string]int `json:"pending"`
	Unwritten map[string]int `json:"unwritten"`
}

// line returns an entry as a line of text.
func (e *Entry) line() string {
	at := e.Time.Format(time.TimeOnly) + " "
	switch {
	case e.Summary != nil:
		return at + e.Summary.line()
	case e.Observed != nil:
		return at + quote.Plain(e.Node) + ": " + e.Observed.line()
	case e.Event == withdrawn:
		return at + quote.Plain(e.Node) + ": " + e.Change.withdrawnLine()
	}
	return at + quote.Plain(e.Node) + ": " + e.Change.line()
}

func (s *Summary) line() string {
	pending := 0
	for _, count := range s.Pending {
		pending += count
	}
	text := fmt.Sprintf("%s. Changes of other programs: %d agree, %d differ, %d undecided. The daemon would make %s now.",
		cli.Count(s.Nodes, "Node"), s.Observed[verdictAgrees], s.Observed[verdictDiffers], s.Observed[verdictUndecided], cli.Count(pending, "change"))
	var stays []string
	add := func(count int, noun, one, several string) {
		switch {
		case count == 1:
			stays = append(stays, cli.Count(count, noun)+" "+one)
		case count > 1:
			stays = append(stays, cli.Count(count, noun)+" "+several)
		}
	}
	add(s.Unwritten["label"]+s.Unwritten["instanceType"], "label", "stays different", "stay different")
	add(s.Unwritten[kindUninitialized], "Node", "stays uninitialized", "stay uninitialized")
	add(s.Unwritten["problem"], "initialized Node", "has a problem", "have a problem")
	if len(stays) > 0 {
		text += " " + strings.Join(stays, ", ") + "."
	}
	return text
}

func (o *Observed) line() string {
	if o.Kind == kindNode {
		text := "other deleted the Node: " + o.Verdict
		if o.Verdict != verdictAgrees {
			text += ": vzones " + o.Why
		}
		return text
	}
	text := fmt.Sprintf("other wrote %s %s → %s: %s", what(o.Kind, o.Label), cell(o.From), cell(o.To), o.Verdict)
	if o.Verdict != verdictAgrees {
		text += fmt.Sprintf(": expected %s (%s)", cell(o.Expected), o.Why)
	}
	return text
}

func what(kind, label string) string { return cmp.Or(world.Short(label), kind) }

// line returns the prediction of a change.
func (c *Change) line() string {
	switch {
	case c.Kind == kindUninitialized:
		return fmt.Sprintf("would stay uninitialized: %s: %s", c.Then, c.By)
	case c.Kind == "problem":
		return fmt.Sprintf("%s: %s: %s", c.Text, c.Then, c.By)
	case c.Kind == kindNode:
		return "vzones " + c.Text
	case c.Action == "" && c.Undecided != "":
		return fmt.Sprintf("%s is %s, undecided (%s): %s", what(c.Kind, c.Label), cell(c.Now), c.Undecided, c.Text)
	case c.Action == "":
		return fmt.Sprintf("%s is %s, expected %s (%s): %s", what(c.Kind, c.Label), cell(c.Now), cell(c.Then), c.By, c.Text)
	}
	text := fmt.Sprintf("vzones would write %s: %s → %s: %s", what(c.Kind, c.Label), cell(c.Now), cell(cmp.Or(c.Then, c.Result)), c.Text)
	if by := cmp.Or(c.Undecided, c.By); by != "" {
		text += ", according to " + by
	}
	return text
}

// withdrawnLine returns the end of a prediction.
func (c *Change) withdrawnLine() string {
	switch {
	case c.Kind == kindUninitialized:
		return "would no longer stay uninitialized"
	case c.Kind == "problem":
		return "no longer has the problem " + c.Then
	case c.Kind == kindNode:
		return "vzones would keep the Node"
	case c.Action == "":
		return what(c.Kind, c.Label) + " is no longer known to differ"
	}
	return fmt.Sprintf("vzones would no longer write %s: %s → %s", what(c.Kind, c.Label), cell(c.Now), cell(cmp.Or(c.Then, c.Result)))
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
	b.WriteString("# HELP vsphere_ccm_shadow_pending_changes Changes that vzones would write now, and differences and problems that would stay.\n# TYPE vsphere_ccm_shadow_pending_changes gauge\n")
	for _, kind := range kinds {
		fmt.Fprintf(&b, "vsphere_ccm_shadow_pending_changes{kind=%q,written=\"true\"} %d\n", kind, now.Pending[kind])
	}
	for _, kind := range unwrittenKinds {
		fmt.Fprintf(&b, "vsphere_ccm_shadow_pending_changes{kind=%q,written=\"false\"} %d\n", kind, now.Unwritten[kind])
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

// unwrittenKinds are the kinds of differences and problems that the daemon leaves as they are.
var unwrittenKinds = []string{"instanceType", "label", kindNode, "problem", kindUninitialized}

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
