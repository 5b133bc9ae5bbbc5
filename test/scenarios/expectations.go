package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"vzones/test/fleet"
	"vzones/test/stack"
)

// logHeader matches the header of a log line; its group is the source file.
var logHeader = regexp.MustCompile(`^[IWEF]\d{4} \S+ +\d+ ([^:\] ]+):\d+\] `)

const defaultTimeout = 3 * time.Minute

func expectations() []command {
	return []command{
		{"expect NODE… CONDITION… [within DURATION]",
			"waits until all conditions (see below) are met for all these Nodes at the same time, by default for at most three minutes", expectCommand},
		{"hold DURATION NODE… CONDITION…", "checks that all conditions are met for all these Nodes, from now until DURATION has passed", holdCommand},
		{"mark requests", "resets the request counts, so that they start here", func(*arguments) action {
			return func(_ context.Context, w *world) error {
				for _, v := range w.stack.Fleet.VCenters() {
					v.ResetRequests()
				}
				return nil
			}
		}},
		{"mark nodes", "records all Nodes once none has been written for a second, for conditions such as `unchanged`", markNodes},
		{"requests VCENTER KIND COMPARE N [within DURATION]",
			"compares the number of requests since `mark requests`: of a SOAP method, of a kind of REST request, of all kinds with a prefix (`KIND*`), or the `total`. " +
				"COMPARE is `=`, `<=` or `>=`; `>=` waits, `=` and `<=` are checked immediately", requestsCommand},
		{"sessions VCENTER COMPARE N [within DURATION]", "waits until the vCenter has this number of sessions, SOAP and REST combined", sessionsCommand},
		{"log has TEXT [within DURATION]", "waits until the log of the current or last daemon, without requests and responses, contains TEXT; `${…}` is replaced as in a configuration", func(a *arguments) action {
			text := a.word("TEXT")
			timeout := a.timeout()
			return func(ctx context.Context, w *world) error {
				text, err := w.fill(text)
				if err != nil {
					return err
				}
				var last error
				return w.poll(ctx, timeout, func() bool {
					said, err := w.ownLogText()
					last = err
					return strings.Contains(said, text)
				}, func() error { return errors.Join(last, fmt.Errorf("the log does not contain %q", text)) })
			}
		}},
		{"log size <= SIZE", "checks that this log is at most SIZE, such as `100kB`", logSize},
		{"log lines N TEXT", "checks that exactly N lines of this log contain TEXT", logLines},
		{"log own N TEXT", "checks that at most N lines of this log are from source files of vzones, and that one of the last three contains TEXT", logOwn},
		{"log json", "checks that each line of the whole log is a JSON object with a message, and that Nodes and vCenters are logged as fields", logJSON},
	}
}

func (a *arguments) timeout() time.Duration {
	if !a.next("within") {
		return defaultTimeout
	}
	return stack.Slower(a.duration())
}

// conditions reads names of Nodes and then conditions, up to "within".
func (a *arguments) conditions() (nodes []string, checks []check) {
	for len(a.words) > 0 && !isCondition(a.words[0]) && a.words[0] != "within" {
		if nodes = append(nodes, a.word("NODE")); strings.Contains(nodes[len(nodes)-1], "=") {
			a.fail("unknown condition %q", nodes[len(nodes)-1])
		}
	}
	for len(a.words) > 0 && a.words[0] != "within" {
		kind, value, ok := findCondition(a.words[0])
		if !ok {
			a.fail("unknown condition %q", a.words[0])
			return nil, nil
		}
		a.words = a.words[1:]
		checks = append(checks, kind.parse(a, value))
	}
	if len(nodes) == 0 {
		a.fail("NODE is missing")
	}
	if len(checks) == 0 {
		a.fail("CONDITION is missing")
	}
	return nodes, checks
}

func expectCommand(a *arguments) action {
	patterns, checks := a.conditions()
	timeout := a.timeout()
	return func(ctx context.Context, w *world) error {
		nodes, err := w.registered(patterns)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		err = w.observer.await(ctx, w.ended(), func(s view) bool { return s.wrong(nodes, checks) == "" })
		if err == nil {
			return nil
		}
		var failures string
		w.observer.withView(func(s view) { failures = s.wrong(nodes, checks) })
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("not met within %s", timeout)
		}
		return fmt.Errorf("%w; actual:%s", err, failures)
	}
}

func holdCommand(a *arguments) action {
	d := a.duration()
	patterns, checks := a.conditions()
	a.p.held += d
	return func(ctx context.Context, w *world) error {
		nodes, err := w.registered(patterns)
		if err != nil {
			return err
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		failures := ""
		err = w.observer.await(ctx, w.ended(), func(s view) bool {
			failures = s.wrong(nodes, checks)
			return failures != ""
		})
		switch {
		case err == nil:
			return fmt.Errorf("no longer met after %s; actual:%s", time.Since(began).Round(10*time.Millisecond), failures)
		case errors.Is(err, context.DeadlineExceeded):
			return nil
		}
		return err
	}
}

// wrong lists the failed checks, one line per Node, for the first few Nodes.
func (s view) wrong(nodes []*registration, checks []check) string {
	const few = 5
	var lines []string
	for _, n := range nodes {
		state := s.stateOf(n)
		var failures []string
		for _, c := range checks {
			if i := c(state); i != "" {
				failures = append(failures, i)
			}
		}
		if len(failures) > 0 {
			lines = append(lines, "\n  "+n.name+": "+strings.Join(failures, ", "))
		}
		if len(lines) == few {
			break
		}
	}
	return strings.Join(lines, "")
}

// stateOf returns the state of a Node. A Node with the same name and another UID is a different Node.
func (s view) stateOf(n *registration) state {
	observed := state{registration: n, node: s.nodes[n.name]}
	if observed.node != nil && observed.node.UID != n.uid {
		observed.node = nil
	}
	for _, e := range s.events {
		if e.InvolvedObject.Kind == "Node" && e.InvolvedObject.UID == n.uid {
			observed.events = append(observed.events, e)
		}
	}
	return observed
}

func requestsCommand(a *arguments) action {
	names := a.vcenters()
	kind := a.word("KIND")
	sign, compare := a.compare()
	want := a.number()
	timeout := a.timeout()
	if sign != ">=" {
		timeout = 0
	}
	return onEach(names, timeout, func(v *fleet.VCenter) (bool, error) {
		is := requestsOf(v, kind)
		return compare(is, want), fmt.Errorf("%s: %d requests of %s, want %s %d: %v", v.Name(), is, kind, sign, want, v.Requests())
	})
}

func requestsOf(v *fleet.VCenter, kind string) int {
	if kind == "total" {
		return v.Total()
	}
	n := 0
	prefix, open := strings.CutSuffix(kind, "*")
	for k, count := range v.Requests() {
		if k == kind || open && strings.HasPrefix(k, prefix) {
			n += count
		}
	}
	return n
}

func sessionsCommand(a *arguments) action {
	names := a.vcenters()
	sign, compare := a.compare()
	want := a.number()
	timeout := a.timeout()
	return onEach(names, timeout, func(v *fleet.VCenter) (bool, error) {
		is := v.Sessions()
		return compare(is, want), fmt.Errorf("%s has %d sessions, want %s %d", v.Name(), is, sign, want)
	})
}

// onEach waits until each vCenter meets a condition, and otherwise returns the last error.
func onEach(names []string, timeout time.Duration, check func(*fleet.VCenter) (bool, error)) action {
	return func(ctx context.Context, w *world) error {
		for _, name := range names {
			v := w.stack.Fleet.VCenter(name)
			var wrong error
			if err := w.poll(ctx, timeout, func() (ok bool) { ok, wrong = check(v); return ok }, func() error { return wrong }); err != nil {
				return err
			}
		}
		return nil
	}
}

// registered returns the Nodes that the script has created and whose name matches one of the patterns.
func (w *world) registered(patterns []string) ([]*registration, error) {
	var found []*registration
	for _, pattern := range patterns {
		countBefore := len(found)
		for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
			if matches(pattern, name) {
				found = append(found, w.nodes[name])
			}
		}
		if len(found) == countBefore {
			return nil, fmt.Errorf("the script has created no Node %q", pattern)
		}
	}
	return found, nil
}

// logJSON checks that the log is JSON, and whether it contains lines about Nodes and vCenters.
func logJSON(a *arguments) action {
	return func(_ context.Context, w *world) error {
		nodes := 0
		vcenters := 0
		for line := range strings.Lines(w.last.LogWithoutRaces()) {
			var fields struct {
				Msg     *string           `json:"msg"`
				Node    map[string]string `json:"node"`
				VCenter string            `json:"vCenter"`
			}
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				return fmt.Errorf("a line is not a JSON object: %w: %.300s", err, line)
			}
			if fields.Msg == nil {
				return fmt.Errorf("a line has no message: %.300s", line)
			}
			if fields.Node["name"] != "" {
				nodes++
			}
			if fields.VCenter != "" {
				vcenters++
			}
		}
		if nodes == 0 || vcenters == 0 {
			return fmt.Errorf("%d lines about Nodes and %d about vCenters, want at least one of each", nodes, vcenters)
		}
		return nil
	}
}

func logSize(a *arguments) action {
	limit, err := bytesIn(a.word("SIZE"))
	if err != nil {
		a.fail("%v", err)
	}
	return func(_ context.Context, w *world) error {
		said, err := w.ownLogText()
		if err == nil && len(said) > limit {
			err = fmt.Errorf("the log has %d bytes", len(said))
		}
		return err
	}
}

// logOwn checks the number of lines from source files of vzones instead of the framework, and their end.
func logOwn(a *arguments) action {
	limit := a.number()
	text := a.word("TEXT")
	return func(_ context.Context, w *world) error {
		said, err := w.ownLogText()
		files := map[string]bool{}
		for _, folder := range []string{"cmd", "config", "provider", "topology", "vcenter"} {
			err = errors.Join(err, filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, _ fs.DirEntry, err error) error {
				files[filepath.Base(path)] = true
				return err
			}))
		}
		var ownLines []string
		for line := range strings.Lines(said) {
			if from := logHeader.FindStringSubmatch(line); len(from) > 1 && files[from[1]] {
				ownLines = append(ownLines, line)
			}
		}
		if end := strings.Join(ownLines[max(0, len(ownLines)-3):], ""); len(ownLines) > limit || !strings.Contains(end, text) {
			err = errors.Join(err, fmt.Errorf("%d lines are from vzones, want at most %d; the last lines:\n%s", len(ownLines), limit, end))
		}
		return err
	}
}

func logLines(a *arguments) action {
	n := a.number()
	text := a.word("TEXT")
	return func(_ context.Context, w *world) error {
		said, err := w.ownLogText()
		if err != nil {
			return err
		}
		var found []string
		for line := range strings.Lines(said) {
			if strings.Contains(line, text) {
				found = append(found, strings.TrimSpace(line))
			}
		}
		if len(found) != n {
			return fmt.Errorf("%d lines contain %q, want %d: %.2000q", len(found), text, n, found)
		}
		return nil
	}
}
