package figures

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCount(t *testing.T) {
	got := Count(map[string]map[string]int{
		"a": {"Login": 1, "WaitForUpdatesEx": 4},
		"b": {"Login": 2},
		"c": {},
	})
	want := &Requests{
		Total: 7, MaxPerVCenter: 5,
		PerVCenter: map[string]int{"a": 5, "b": 2, "c": 0},
		ByKind:     map[string]int{"Login": 3, "WaitForUpdatesEx": 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMedian(t *testing.T) {
	at := func(seconds float64) *Reading { return &Reading{Seconds: seconds, PeakBytes: int64(seconds * 100)} }
	for _, test := range []struct {
		runs []*Reading
		want float64
	}{
		{[]*Reading{at(3)}, 3},
		{[]*Reading{at(9), at(2)}, 2},
		{[]*Reading{at(9), at(1), at(4)}, 4},
	} {
		got := Median(test.runs)
		if got.Seconds != test.want || got.PeakBytes != int64(test.want*100) {
			t.Errorf("of %d: %+v, want that of %g s", len(test.runs), got, test.want)
		}
		if len(got.All) != len(test.runs) || got.All[0] > got.All[len(got.All)-1] {
			t.Errorf("the times of all: %v", got.All)
		}
	}
}

func TestCompareFigures(t *testing.T) {
	two := 2
	kinds := map[string]int{
		"WaitForUpdatesEx": 7, "GET /com/vmware/cis/tagging/tag/id:{id}": 5, "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects": 4,
		"GetCurrentTime": 2, "POST /com/vmware/cis/session": 1, // not of a steady fleet
	}
	c := &Case{
		Name:    "some",
		Daemon:  &Reading{Seconds: 3, CPUSeconds: 4, PeakBytes: 250 << 20, Requests: &Requests{Total: 91, MaxPerVCenter: 31, ByKind: kinds}, APIWrites: &two, LogLines: &two},
		Floor:   &Reading{Seconds: 2, CPUSeconds: 2.5},
		Healthy: &Reading{Seconds: 4},
	}
	c.Compare()
	bounds := []Bound{{TotalRequests, 90}, {RequestsPerVCenter, 31}, {RequestsPerMinute, 600}, {Seconds, 3}, {TimesFloor, 1.3}, {TimesFloorCPU, 1.5}, {TimesHealthy, 1.1}, {LaterThanHealthy, -2}, {PeakMiB, 250}, {APIWrites, 0}, {OtherRequests, 3}, {LogLinesPerMinute, 30}}
	if err := c.Check(bounds); err != nil {
		t.Fatal(err)
	}
	want := []Limit{
		{TotalRequests, 90, 91, false},
		{RequestsPerVCenter, 31, 31, true}, // at most is not below
		{RequestsPerMinute, 600, 620, false},
		{Seconds, 3, 3, true},
		{TimesFloor, 1.3, 1.5, false},
		{TimesFloorCPU, 1.5, 1.6, false},
		{TimesHealthy, 1.1, 0.75, true},
		{LaterThanHealthy, -2, -1, false},
		{PeakMiB, 250, 250, true},
		{APIWrites, 0, 2, false},
		{OtherRequests, 3, 3, true},
		{LogLinesPerMinute, 30, 40, false},
	}
	if diff := cmp.Diff(want, c.Limits); diff != "" {
		t.Error(diff)
	}
	if r := (&Report{Cases: []*Case{{}, c}}); !r.Over() || r.Failed() {
		t.Errorf("over %t, failed %t", r.Over(), r.Failed())
	}
}

// A limit without a figure may not pass for one that is kept.
func TestWithoutFigures(t *testing.T) {
	withoutRequests := &Case{Daemon: &Reading{Seconds: 1}}
	for _, c := range []*Case{{}, withoutRequests} {
		for _, q := range []Quantity{TotalRequests, RequestsPerVCenter, RequestsPerMinute, TimesFloor, TimesFloorCPU, TimesHealthy, LaterThanHealthy, APIWrites, OtherRequests, RequestsGrowth, CPUGrowth, MemoryGrowth, LogPerMinute, LogLinesPerMinute, Unserved, Deleted, "what nobody knows"} {
			if err := c.Check([]Bound{{q, 1000}}); err == nil || len(c.Limits) != 0 {
				t.Errorf("%q: error %v, limits %v", q, err, c.Limits)
			}
		}
	}
}

// A growth compares with what was measured beside no machines that are no Nodes.
func TestGrowth(t *testing.T) {
	reading := func(requests int, cpu float64, rest int64) *Reading {
		return &Reading{RestBytes: rest << 20, CPUSeconds: cpu, Requests: &Requests{Total: requests}}
	}
	c := &Case{Daemon: reading(110, 2, 30), Smaller: reading(100, 1, 10)}
	if err := c.Check([]Bound{{RequestsGrowth, 1.1}, {CPUGrowth, 1.1}, {MemoryGrowth, 20}}); err != nil {
		t.Fatal(err)
	}
	want := []Limit{{RequestsGrowth, 1.1, 1.1, true}, {CPUGrowth, 1.1, 2, false}, {MemoryGrowth, 20, 20, true}}
	if diff := cmp.Diff(want, c.Limits); diff != "" {
		t.Error(diff)
	}
}

// Of several runs the worst memory, log and harm count, whichever took longest.
func TestWorst(t *testing.T) {
	run := func(seconds float64, peak, log int64, unserved, deleted int) *Reading {
		return &Reading{Seconds: seconds, PeakBytes: peak, LogBytes: log, LogSeconds: 60, Harm: &Harm{unserved, deleted}}
	}
	c := &Case{Daemon: Worst([]*Reading{run(3, 1<<20, 500_000, 0, 1), run(1, 9<<20, 100_000, 4, 0), run(2, 2<<20, 2_000_000, 0, 0)})}
	if err := c.Check([]Bound{{Seconds, 2}, {PeakMiB, 9}, {LogPerMinute, 1}, {Unserved, 0}, {Deleted, 1}}); err != nil {
		t.Fatal(err)
	}
	want := []Limit{{Seconds, 2, 2, true}, {PeakMiB, 9, 9, true}, {LogPerMinute, 1, 2, false}, {Unserved, 0, 4, false}, {Deleted, 1, 1, true}}
	if diff := cmp.Diff(want, c.Limits); diff != "" {
		t.Error(diff)
	}
}

func sample() *Report {
	return &Report{
		Daemon: "bin/daemon", Version: "v1", DelayMS: 5, Seconds: 61, Short: true,
		Machine: Machine{Cores: 2, OS: "linux", Arch: "amd64", Go: "go1.26.8", Load: 0.25},
		Cases: []*Case{
			{
				Name: "healthy", Nodes: 300, VCenters: 3, TimeOf: "last Node", ToFloor: 1.25,
				Daemon: &Reading{Seconds: 1.5, CPUSeconds: 0.7, PeakBytes: 90 << 20, Requests: &Requests{Total: 45, MaxPerVCenter: 17, Bytes: 2 << 20, ByKind: map[string]int{"Login": 3, "WaitForUpdatesEx": 42}}},
				Floor:  &Reading{Seconds: 1.2, CPUSeconds: 0.3, PeakBytes: 75 << 20},
				Limits: []Limit{{TotalRequests, 90, 45, true}, {TimesFloor, 1.2, 1.25, false}},
			},
			{
				Name: "steady", Nodes: 60, VCenters: 3, TimeOf: "window",
				Daemon: &Reading{Seconds: 60, CPUSeconds: 0.1, PeakBytes: 80 << 20, RestBytes: 78 << 20, Requests: &Requests{ByKind: map[string]int{"WaitForUpdatesEx": 6}, Total: 6, MaxPerVCenter: 2}},
				Floor:  &Reading{PeakBytes: 70 << 20},
				Notes:  []string{"a note"},
			},
			{Name: "broken", Nodes: 5000, VCenters: 10, Error: "it fell over"},
		},
	}
}

const printed = `-, 2 cores, linux/amd64, go1.26.8; load average before: 0.2
bin/daemon (v1), 5 ms a request; began 0001-01-01 00:00:00 UTC, took 61 s, short

| case    | Nodes | vCenters | time of   | time s | floor s | / floor | healthy s | / healthy | requests | max/vCenter |  KiB | CPU s | floor CPU s | peak MiB | floor MiB | rest MiB | limits                                                        |
| ------- | -----:| --------:| --------- | ------:| -------:| -------:| ---------:| ---------:| --------:| -----------:| ----:| -----:| -----------:| --------:| ---------:| --------:| ------------------------------------------------------------- |
| healthy |   300 |        3 | last Node |   1.50 |    1.20 |    1.25 |         - |         - |       45 |          17 | 2048 |  0.70 |        0.30 |       90 |        75 |        - | requests 45, limit 90: ok; time / floor 1.25, limit 1.2: OVER |
| steady  |    60 |        3 | window    |  60.00 |       - |       - |         - |         - |        6 |           2 |    0 |  0.10 |        0.00 |       80 |        70 |       78 | -                                                             |
| broken  |  5000 |       10 | -         |      - |       - |       - |         - |         - |        - |           - |    - |     - |           - |        - |         - |        - | NOT MEASURED                                                  |

| requests of the daemon | healthy | steady |
| ---------------------- | -------:| ------:|
| Login                  |       3 |      - |
| WaitForUpdatesEx       |      42 |      6 |

steady: a note

broken could not be measured: it fell over
`

func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := sample().Print(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printed, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	want := sample()
	if err := want.WriteJSON(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := new(Report)
	if err := json.Unmarshal(data, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
