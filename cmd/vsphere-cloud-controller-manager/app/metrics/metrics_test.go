package metrics

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/component-base/metrics"

	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodeinfo"
	"vzones/provider/nodes"
	"vzones/provider/placement"
	"vzones/provider/report"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

const reference = "../../../../docs/reference/metrics.md"

// family is a metric in a registry.
type family struct {
	kind, help string
	labels     []string
	// samples are the values, or the counts of a histogram, by label=value pairs separated by commas.
	samples map[string]float64
}

func gather(t *testing.T, r metrics.KubeRegistry) map[string]family {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]family{}
	for _, f := range all {
		found := family{kind: strings.ToLower(f.GetType().String()), help: f.GetHelp(), samples: map[string]float64{}}
		for _, m := range f.GetMetric() {
			var names, pairs []string
			for _, l := range m.GetLabel() {
				names = append(names, l.GetName())
				pairs = append(pairs, l.GetName()+"="+l.GetValue())
			}
			if found.labels != nil && !slices.Equal(found.labels, names) {
				t.Errorf("%s has labels %v and %v", f.GetName(), found.labels, names)
			}
			found.labels = names
			found.samples[strings.Join(pairs, ",")] = m.GetGauge().GetValue() + m.GetCounter().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
		families[f.GetName()] = found
	}
	return families
}

// TestMetricsAreDocumented: the reference contains exactly the registered metrics, with types and labels.
func TestMetricsAreDocumented(t *testing.T) {
	r := metrics.NewKubeRegistry()
	o := NewObserver(r)
	o.Requested("east", "Login", time.Second, nil)
	o.LoggedIn("east", nil)
	o.WatchStarted("east")
	NewReloads(r)
	fleet := func() []vcenter.Health {
		return []vcenter.Health{{State: inventory.State{VCenter: "east", Snapshot: &inventory.Snapshot{}, LastContact: time.Now()}, Tags: vcenter.TagsRead, CertificateEnds: time.Now()}}
	}
	stats := idle()
	stats.LabelsAreKept = true
	stats.Partitioned = map[nodeinfo.Zone]bool{{Region: "r", Zone: "a"}: true}
	r.CustomMustRegister(NewStates(leads(), fleet, func() nodes.Stats { return stats }))

	type entry struct {
		kind   string
		labels []string
	}
	documented := map[string]entry{}
	for _, cells := range table(t, "## The metrics") {
		e := entry{kind: cells[1]}
		for l := range strings.SplitSeq(strings.ReplaceAll(cells[2], "`", ""), ", ") {
			if l != "" {
				e.labels = append(e.labels, l)
			}
		}
		slices.Sort(e.labels)
		name := strings.Trim(cells[0], "`")
		if _, twice := documented[name]; twice {
			t.Errorf("%s is documented twice", name)
		}
		if len(cells) != 4 || cells[3] == "" {
			t.Errorf("%s: no meaning: %q", name, cells)
		}
		documented[name] = e
	}
	found := gather(t, r)
	for name, f := range found {
		if !strings.HasPrefix(name, "vsphere_ccm_") {
			t.Errorf("%s has not the prefix of all", name)
		}
		if strings.TrimPrefix(f.help, "[ALPHA] ") == "" {
			t.Errorf("%s has no help", name)
		}
		if (f.kind == "counter") != strings.HasSuffix(name, "_total") {
			t.Errorf("%s is a %s", name, f.kind)
		}
		e, ok := documented[name]
		if !ok {
			t.Errorf("%s is not documented", name)
		} else if e.kind != f.kind || !slices.Equal(e.labels, f.labels) {
			t.Errorf("%s is documented as %v, and is a %s with the labels %v", name, e, f.kind, f.labels)
		}
	}
	for name := range documented {
		if _, ok := found[name]; !ok {
			t.Errorf("%s is documented and not registered", name)
		}
	}
	if len(found) == 0 {
		t.Error("no metrics are registered")
	}
}

// TestLabelsAreDocumented: the reference contains the values of the labels.
func TestLabelsAreDocumented(t *testing.T) {
	for label, c := range map[string]struct {
		counts map[string]int
		help   string
	}{
		"outcome": {idle().Outcomes, report.OutcomesHelp},
		"reason":  {idle().KeptReasons, placement.KeptHelp},
	} {
		want := slices.Sorted(maps.Keys(c.counts))
		if got := column(t, "### `"+label+"`"); !slices.Equal(got, want) {
			t.Errorf("the reference has %v, the code %v", got, want)
		}
		for _, value := range want {
			if !strings.Contains(c.help, value) {
				t.Errorf("the help of the metric does not name %s", value)
			}
		}
	}
}

var results = []struct {
	err  error
	want string
}{
	{nil, "ok"},
	{fmt.Errorf("no answer within 15s: %w", context.DeadlineExceeded), "timeout"},
	{fmt.Errorf("waiting for changes: %w", context.Canceled), "canceled"},
	{fmt.Errorf("logging in: %w", session.ErrRejected), "rejected"},
	{errors.New("connection refused"), "error"},
}

func TestResult(t *testing.T) {
	all := map[string]bool{}
	for _, c := range results {
		all[c.want] = true
		if got := result(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
	// A login that was rejected too late is still rejected.
	if got := result(errors.Join(context.DeadlineExceeded, session.ErrRejected)); got != "rejected" {
		t.Errorf("it is %s", got)
	}
	if got, want := column(t, "### `result`"), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("the reference has %v, the code %v", got, want)
	}
}

func TestObserver(t *testing.T) {
	r := metrics.NewKubeRegistry()
	o := NewObserver(r)
	for _, c := range results {
		o.Requested("east", "Login", 20*time.Millisecond, c.err)
		o.LoggedIn("east", c.err)
	}
	o.Requested("west", "WaitForUpdatesEx", 25*time.Second, nil)
	o.LoggedIn("west", nil)
	o.WatchStarted("west")
	o.WatchStarted("west")

	want := map[string]map[string]float64{
		"vsphere_ccm_vcenter_requests_total":           {"call=WaitForUpdatesEx,result=ok,vcenter=west": 1},
		"vsphere_ccm_vcenter_request_duration_seconds": {"call=Login,vcenter=east": 5, "call=WaitForUpdatesEx,vcenter=west": 1},
		"vsphere_ccm_vcenter_logins_total":             {"result=ok,vcenter=west": 1},
		"vsphere_ccm_vcenter_watch_starts_total":       {"vcenter=west": 2},
	}
	for _, c := range results {
		want["vsphere_ccm_vcenter_requests_total"]["call=Login,result="+c.want+",vcenter=east"] = 1
		want["vsphere_ccm_vcenter_logins_total"]["result="+c.want+",vcenter=east"] = 1
	}
	found := gather(t, r)
	for name, samples := range want {
		if got := found[name].samples; !maps.Equal(got, samples) {
			t.Errorf("%s is %v\nwant %v", name, got, samples)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d metrics, want %d", len(found), len(want))
	}
}

// TestStates: each state of a vCenter, at the time of the scrape.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rejected := errors.New("vCenter: connection refused")
		now := time.Now()
		id := func(n int) inventory.UUID {
			u, err := inventory.ParseUUID(fmt.Sprintf("42000000-0000-0000-0000-%012d", n))
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		snapshot := func(incomplete error) *inventory.Snapshot {
			return &inventory.Snapshot{
				Incomplete: incomplete,
				// Two VMs with one UUID are one entry.
				Index: map[inventory.UUID][]inventory.Entry{id(1): {{ID: "vm-1"}, {ID: "vm-2"}}, id(2): {{ID: "vm-3"}}},
				VMs:   map[string]*inventory.VM{"vm-1": {}},

				NotPermitted: []topology.Ref{{Type: "Folder", ID: "group-v3"}, {Type: "Folder", ID: "group-d1"}},
			}
		}
		fleet := []vcenter.Health{
			{State: inventory.State{VCenter: "new"}},
			{State: inventory.State{VCenter: "refusing", Err: fmt.Errorf("logging in: %w", session.ErrRejected)}, Rejected: true},
			{State: inventory.State{VCenter: "other", Err: fmt.Errorf("connecting: %w", &session.UntrustedError{Certificate: &x509.Certificate{}})}, Tags: vcenter.TagsRead},
			{State: inventory.State{VCenter: "well", Snapshot: snapshot(nil), LastContact: now.Add(-20 * time.Second)}, Tags: vcenter.TagsRead, CertificateEnds: time.Unix(2e9, 0)},
			{State: inventory.State{VCenter: "partial", Snapshot: snapshot(rejected), LastContact: now}, Tags: vcenter.TagsFailed, CredentialsErr: rejected},
			// The tagging API rejected a login before the vCenter failed.
			{State: inventory.State{VCenter: "lost", Snapshot: snapshot(nil), LastContact: now.Add(-time.Hour), Err: rejected}, Tags: vcenter.TagsRead, Rejected: true},
		}
		r := metrics.NewKubeRegistry()
		counts := map[string]int{"placed": 7, "unknown": 0}
		stats := nodes.Stats{Outcomes: counts, Waiting: map[string]int{"placed": 1, "unknown": 0}, KeptReasons: map[string]int{"unknown": 2}}
		r.CustomMustRegister(NewStates(leads(), func() []vcenter.Health { return fleet }, func() nodes.Stats { return stats }))
		want := map[string]map[string]float64{
			"up":                   {"new": 0, "refusing": 0, "other": 0, "well": 1, "partial": 1, "lost": 0},
			"snapshot_age_seconds": {"well": 20, "partial": 0, "lost": 3600},
			"snapshot_complete":    {"new": 0, "refusing": 0, "other": 0, "well": 1, "partial": 0, "lost": 1},
			"indexed_uuids":        {"well": 2, "partial": 2, "lost": 2},
			"watched_vms":          {"well": 1, "partial": 1, "lost": 1},

			"credentials_rejected":                 {"new": 0, "refusing": 1, "other": 0, "well": 0, "partial": 0, "lost": 1},
			"credentials_missing":                  {"new": 0, "refusing": 0, "other": 0, "well": 0, "partial": 1, "lost": 0},
			"login_rejected":                       {"new": 0, "refusing": 1, "other": 0, "well": 0, "partial": 0, "lost": 0},
			"tags_available":                       {"other": 1, "well": 1, "partial": 0, "lost": 1},
			"certificate_untrusted":                {"new": 0, "refusing": 0, "other": 1, "well": 0, "partial": 0, "lost": 0},
			"certificate_expiry_timestamp_seconds": {"well": 2e9},

			"unreadable_tag_objects": {"well": 2, "partial": 2, "lost": 2},
		}
		check := func() {
			t.Helper()
			found := gather(t, r)
			for name, values := range want {
				samples := map[string]float64{}
				for vc, v := range values {
					samples["vcenter="+vc] = v
				}
				if got := found["vsphere_ccm_vcenter_"+name].samples; !maps.Equal(got, samples) {
					t.Errorf("%s is %v, want %v", name, got, samples)
				}
			}
			outcomes := map[string]float64{}
			for o, n := range counts {
				outcomes["outcome="+o] = float64(n)
			}
			if got := found["vsphere_ccm_leading"].samples; !maps.Equal(got, map[string]float64{"": 1}) {
				t.Errorf("leading is %v", got)
			}
			if got := found["vsphere_ccm_nodes"].samples; !maps.Equal(got, outcomes) {
				t.Errorf("the Nodes are %v, want %v", got, outcomes)
			}
			if got, want := found["vsphere_ccm_uninitialized_nodes"].samples, (map[string]float64{"outcome=placed": 1, "outcome=unknown": 0}); !maps.Equal(got, want) {
				t.Errorf("the Nodes that wait are %v, want %v", got, want)
			}
			if got, want := found["vsphere_ccm_deletion_blocked_nodes"].samples, (map[string]float64{"reason=unknown": 2}); !maps.Equal(got, want) {
				t.Errorf("the Nodes that are kept are %v, want %v", got, want)
			}
			// Four metrics are checked above. Metrics of labels are absent, since labels are not kept.
			if len(found) != len(want)+4 {
				t.Errorf("%d metrics, want %d", len(found), len(want)+4)
			}
		}
		check()
		// The next scrape shows the new state.
		time.Sleep(10 * time.Second)
		for vc := range want["snapshot_age_seconds"] {
			want["snapshot_age_seconds"][vc] += 10
		}
		counts["placed"] = 5
		counts["unknown"] = 2
		fleet[0].Snapshot = &inventory.Snapshot{}
		want["up"]["new"] = 1
		want["snapshot_complete"]["new"] = 1
		want["indexed_uuids"]["new"] = 0
		want["watched_vms"]["new"] = 0
		want["unreadable_tag_objects"]["new"] = 0
		check()
	})
}

// table returns the rows of the first table below a heading of the reference.
func table(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("no heading %q", heading)
	}
	_, below, _ = strings.Cut(below, "\n|--")
	var rows [][]string
	for line := range strings.Lines(below) {
		if len(rows) > 0 && !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "#") {
			break
		}
		if !strings.HasPrefix(line, "| ") {
			// This line separates the header.
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		t.Fatalf("no table below %q", heading)
	}
	return rows
}

// column returns the text between backquotes in the first cells below a heading, in order.
func column(t *testing.T, heading string) []string {
	t.Helper()
	var all []string
	for _, cells := range table(t, heading) {
		for i, part := range strings.Split(cells[0], "`") {
			if i%2 == 1 {
				all = append(all, part)
			}
		}
	}
	slices.Sort(all)
	return all
}

// leads returns the channel of a leader.
func leads() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

// TestAStandbyShowsNothing: a standby has read no vCenter and knows no Node.
func TestAStandbyShowsNothing(t *testing.T) {
	r := metrics.NewKubeRegistry()
	r.CustomMustRegister(NewStates(make(chan struct{}), nil, nil))
	found := gather(t, r)
	if len(found) != 1 || !maps.Equal(found["vsphere_ccm_leading"].samples, map[string]float64{"": 0}) {
		t.Errorf("a standby shows %v, want vsphere_ccm_leading 0 alone", found)
	}
}

// idle returns the counts of a controller that has not started.
func idle() nodes.Stats {
	p := provider.New(nil, &config.Config{}, provider.Options{})
	return nodes.New(nil, p.Store(), p.Checker(), nil).Stats()
}
