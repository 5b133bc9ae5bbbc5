// Package figures holds what the benchmark measured, holds it against limits
// and prints it. It measures nothing itself.
package figures

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// A Report is one run of the benchmark.
type Report struct {
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"` // how long all of it took
	Daemon  string    `json:"daemon"`  // path
	Version string    `json:"version"` // what the daemon says of itself
	DelayMS float64   `json:"delay_ms"`
	Short   bool      `json:"short"`
	Machine Machine   `json:"machine"`
	Cases   []*Case   `json:"cases"`
}

// Machine is where it was measured.
type Machine struct {
	Cores int    `json:"cores"`
	CPU   string `json:"cpu,omitempty"`
	OS    string `json:"os"`
	Arch  string `json:"arch"`
	Go    string `json:"go"`
	// Load is the load average of the minute before, which says whether the
	// machine was at rest.
	Load float64 `json:"load_before"`
}

// A Case is one thing that was measured.
type Case struct {
	Name     string `json:"name"`
	About    string `json:"about"`
	Nodes    int    `json:"nodes"`
	VCenters int    `json:"vcenters"`
	OtherVMs int    `json:"other_vms"`
	// TimeOf says what the seconds of the readings are.
	TimeOf string `json:"time_of"`

	Daemon *Reading `json:"daemon,omitempty"`
	// Floor is the same of the framework with a provider that answers from a
	// constant.
	Floor *Reading `json:"floor,omitempty"`
	// Healthy is the same of the daemon without what the case has go wrong; nil
	// where nothing does.
	Healthy *Reading `json:"healthy,omitempty"`
	// Smaller is the same of the daemon beside no machines that are no
	// Nodes; nil where they do not vary.
	Smaller *Reading `json:"smaller,omitempty"`
	// ToFloor and ToHealthy are the daemon's seconds divided by the others', 0
	// where the two are not the same thing.
	ToFloor   float64 `json:"to_floor,omitempty"`
	ToHealthy float64 `json:"to_healthy,omitempty"`

	Limits []Limit  `json:"limits,omitempty"`
	Notes  []string `json:"notes,omitempty"`
	// Error says why the case could not be measured; "" if it was.
	Error string `json:"error,omitempty"`
}

// A Reading is what one program needed. Of several runs it is the one with the
// median time.
type Reading struct {
	Seconds float64 `json:"seconds"` // 0 where there is nothing to compare
	// All are the seconds of all runs or, where one run has several, of all
	// changes, the shortest first.
	All        []float64 `json:"all_seconds,omitempty"`
	CPUSeconds float64   `json:"cpu_seconds"`
	PeakBytes  int64     `json:"peak_bytes"`
	// RestBytes is the resident memory at the end of a window in which nothing
	// changes; 0 where there is none.
	RestBytes int64 `json:"rest_bytes,omitempty"`
	// HarnessCPUSeconds is what the simulated vCenters, which share the
	// machine's cores with the program, and the rest of the benchmark's own
	// process used meanwhile.
	HarnessCPUSeconds float64 `json:"harness_cpu_seconds"`
	// Requests are those to the vCenters; nil for the floor, which has none.
	Requests *Requests `json:"requests,omitempty"`
	// APIWrites are the requests to the API server that change something; nil
	// where they were not counted.
	APIWrites *int `json:"api_writes,omitempty"`
	// LogBytes is what the program logged in LogSeconds from its start; 0 where that
	// was not measured.
	LogBytes   int64   `json:"log_bytes,omitempty"`
	LogSeconds float64 `json:"log_seconds,omitempty"`
	// LogLines is how many lines the program logged in a window of Seconds in which
	// nothing changes; nil where they were not counted.
	LogLines *int `json:"log_lines,omitempty"`
	// Harm is what happened to Nodes that others may have harmed; nil where there are
	// no such others.
	Harm *Harm `json:"harm,omitempty"`
}

// Harm counts Nodes that nothing is wrong with.
type Harm struct {
	// Unserved do not have what their machines give them, or not in time. Deleted are
	// gone.
	Unserved int `json:"unserved"`
	Deleted  int `json:"deleted"`
}

// Worst returns the readings' median with the most of what has a limit and is no time:
// memory, the log and harm.
func Worst(runs []*Reading) *Reading {
	worst := Median(runs)
	for _, r := range runs {
		worst.PeakBytes = max(worst.PeakBytes, r.PeakBytes)
		if r.LogSeconds > 0 && float64(r.LogBytes)*worst.LogSeconds > float64(worst.LogBytes)*r.LogSeconds {
			worst.LogBytes, worst.LogSeconds = r.LogBytes, r.LogSeconds
		}
		if r.Harm != nil && worst.Harm != nil {
			worst.Harm = &Harm{max(r.Harm.Unserved, worst.Harm.Unserved), max(r.Harm.Deleted, worst.Harm.Deleted)}
		}
	}
	return worst
}

// Requests are the requests to the vCenters.
type Requests struct {
	Total         int            `json:"total"`
	MaxPerVCenter int            `json:"max_per_vcenter"`
	PerVCenter    map[string]int `json:"per_vcenter"`
	ByKind        map[string]int `json:"by_kind"`
	// Bytes are those of the bodies of all answers.
	Bytes int64 `json:"bytes"`
}

// Count adds up the requests of each vCenter by their kind.
func Count(vcenters map[string]map[string]int) *Requests {
	r := &Requests{PerVCenter: map[string]int{}, ByKind: map[string]int{}}
	for name, kinds := range vcenters {
		r.PerVCenter[name] = 0
		for kind, n := range kinds {
			r.ByKind[kind] += n
			r.PerVCenter[name] += n
			r.Total += n
		}
		r.MaxPerVCenter = max(r.MaxPerVCenter, r.PerVCenter[name])
	}
	return r
}

// other are the requests that a steady fleet does not need.
func (r *Requests) other() int {
	n := 0
	for kind, count := range r.ByKind {
		tags := kind == "POST /com/vmware/cis/tagging/tag-association?~action=list-attached-tags-on-objects" ||
			strings.HasPrefix(kind, "GET /com/vmware/cis/tagging/")
		if !tags && kind != "WaitForUpdatesEx" {
			n += count
		}
	}
	return n
}

// Median returns the reading with the median time, the lower one of two, with
// the times of all. There is at least one.
func Median(runs []*Reading) *Reading {
	sorted := slices.SortedFunc(slices.Values(runs), func(a, b *Reading) int {
		switch {
		case a.Seconds < b.Seconds:
			return -1
		case a.Seconds > b.Seconds:
			return 1
		}
		return 0
	})
	median := *sorted[(len(sorted)-1)/2]
	median.All = make([]float64, len(sorted))
	for i, r := range sorted {
		median.All[i] = r.Seconds
	}
	return &median
}

// Kinds returns the kinds of requests in all cases, in their order.
func (r *Report) Kinds() []string {
	all := map[string]bool{}
	for _, c := range r.Cases {
		if c.Daemon == nil || c.Daemon.Requests == nil {
			continue
		}
		for kind := range c.Daemon.Requests.ByKind {
			all[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Failed reports whether a case could not be measured.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Cases, func(c *Case) bool { return c.Error != "" })
}

// Over reports whether a limit is exceeded.
func (r *Report) Over() bool {
	return slices.ContainsFunc(r.Cases, func(c *Case) bool {
		return slices.ContainsFunc(c.Limits, func(l Limit) bool { return !l.OK })
	})
}

// WriteJSON writes the report to a file.
func (r *Report) WriteJSON(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
