package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

const (
	recordFile = "docs/reference/compat.json"
	pageFile   = "docs/reference/compatibility.md"
)

// What became of an entry.
const (
	passed  = "passed"
	failed  = "failed"
	leftOut = "left out"
)

// A result is what became of one entry.
type result struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	// Why is there unless it passed at the first attempt.
	Why string `json:"why,omitempty"`
}

// A run is the list played with one minor.
type run struct {
	Kubernetes string   `json:"kubernetes"` // v1.36.4
	Etcd       string   `json:"etcd"`
	Date       string   `json:"date"` // of its end, UTC
	Commit     string   `json:"commit"`
	Go         string   `json:"go"`
	Platform   string   `json:"platform"`
	Seconds    int      `json:"seconds"` // of all runs that are in it
	Results    []result `json:"results"`
}

func (r run) minor() string {
	if found := versionOfKubernetes.FindStringSubmatch(r.Kubernetes); found != nil {
		return found[1]
	}
	return ""
}

// of returns the names of the results with an outcome.
func (r run) of(outcome string) []string {
	var names []string
	for _, one := range r.Results {
		if one.Outcome == outcome {
			names = append(names, one.Name)
		}
	}
	return names
}

// missing returns the names of the entries that the run has no result of.
func (r run) missing(entries []entry) []string {
	var names []string
	for _, e := range entries {
		if !slices.ContainsFunc(r.Results, func(one result) bool { return one.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	return names
}

// readRecord returns the last run of each minor, the newest minor first; none where
// nothing was recorded.
func readRecord(root string) ([]run, error) {
	data, err := os.ReadFile(filepath.Join(root, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var runs []run
	if err := decoder.Decode(&runs); err != nil {
		return nil, fmt.Errorf("%s: %w", recordFile, err)
	}
	for _, r := range runs {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", recordFile, r.Kubernetes, err)
		}
	}
	return runs, nil
}

var (
	commits = regexp.MustCompile(`^[0-9a-f]{40}$`)
	dates   = regexp.MustCompile(`^20[0-9]{2}-[01][0-9]-[0-3][0-9]$`)
)

func (r run) check() error {
	switch {
	case r.minor() == "":
		return errors.New("not a version of Kubernetes")
	case !commits.MatchString(r.Commit):
		return fmt.Errorf("%q is not a commit", r.Commit)
	case !dates.MatchString(r.Date):
		return fmt.Errorf("%q is not a date", r.Date)
	case len(r.Results) == 0:
		return errors.New("no results")
	}
	for _, one := range r.Results {
		if !slices.Contains([]string{passed, failed, leftOut}, one.Outcome) {
			return fmt.Errorf("%s: outcome %q", one.Name, one.Outcome)
		}
		if one.Outcome != passed && one.Why == "" {
			return fmt.Errorf("%s: %s, and nothing says why", one.Name, one.Outcome)
		}
	}
	return nil
}

// with returns the runs with another one in place of its minor's. One of the same
// version and commit keeps the results that the other does not have.
func with(runs []run, another run) []run {
	for _, r := range runs {
		if r.Kubernetes == another.Kubernetes && r.Commit == another.Commit {
			another = another.and(r)
		}
	}
	all := slices.DeleteFunc(slices.Clone(runs), func(r run) bool { return r.minor() == another.minor() })
	all = append(all, another)
	slices.SortFunc(all, func(a, b run) int { return number(kubernetes{minor: b.minor()}) - number(kubernetes{minor: a.minor()}) })
	return all
}

// and returns the run with the results of another one that it does not have itself.
func (r run) and(other run) run {
	results := slices.Clone(r.Results)
	for _, one := range other.Results {
		if !slices.ContainsFunc(results, func(have result) bool { return have.Name == one.Name }) {
			results = append(results, one)
		}
	}
	r.Results, r.Seconds = results, r.Seconds+other.Seconds
	return r
}

func writeRecord(root string, runs []run) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(runs); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, recordFile), b.Bytes(), 0o644)
}
