package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

const (
	listFile = "test/upstream/specs.yaml"
	// suite is the description of e2e.test's suite, which precedes each name that a focus is compared with.
	suite = "Kubernetes e2e suite"
)

//go:embed specs.yaml
var listYAML []byte

// A list is the content of specs.yaml, which documents it.
type list struct {
	Concern string            `yaml:"concern"`
	Run     map[string]string `yaml:"run"`
	LeftOut map[string]string `yaml:"leftOut"`

	concern *regexp.Regexp
	leftOut map[string]*regexp.Regexp
}

func readList(text []byte) (*list, error) {
	l := &list{leftOut: map[string]*regexp.Regexp{}}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(l); err != nil {
		return nil, err
	}
	if len(l.Run) == 0 {
		return nil, errors.New("no spec to run")
	}
	for entry, reason := range concat(l.Run, l.LeftOut) {
		if reason == "" {
			return nil, fmt.Errorf("%q: no reason", entry)
		}
	}
	var err error
	if l.concern, err = regexp.Compile(l.Concern); err != nil {
		return nil, err
	}
	for pattern := range l.LeftOut {
		if l.leftOut[pattern], err = regexp.Compile(pattern); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func concat(run, leftOut map[string]string) map[string]string {
	all := maps.Clone(run)
	maps.Copy(all, leftOut)
	return all
}

func (l *list) names() []string { return slices.Sorted(maps.Keys(l.Run)) }

// check compares the list with the names of all specs, which change with the version of Kubernetes.
func (l *list) check(all []string) error {
	var errs []error
	for _, name := range l.names() {
		if !slices.Contains(all, name) {
			errs = append(errs, fmt.Errorf("no spec is named %q", name))
		}
	}
	used := map[string]bool{}
	for _, name := range all {
		_, covered := l.Run[name]
		for pattern, matcher := range l.leftOut {
			switch {
			case !matcher.MatchString(name):
			case l.Run[name] != "":
				errs = append(errs, fmt.Errorf("%q is run and left out by %q", name, pattern))
			default:
				covered = true
				used[pattern] = true
			}
		}
		if !covered && l.concern.MatchString(name) {
			errs = append(errs, fmt.Errorf("%q is neither run nor left out", name))
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(l.leftOut)) {
		if !used[pattern] {
			errs = append(errs, fmt.Errorf("%q leaves out no spec", pattern))
		}
	}
	return errors.Join(errs...)
}

// focus returns the flags that select the specs to run.
func (l *list) focus() []string {
	var flags []string
	for _, name := range l.names() {
		flags = append(flags, "--ginkgo.focus=^"+regexp.QuoteMeta(suite+" "+name)+"$")
	}
	return flags
}

var listedSpec = regexp.MustCompile(`(?m)^    \S+:\d+: (.+)$`)

// parseNames returns the names in the output of e2e.test --list-tests.
func parseNames(printed string) []string {
	var names []string
	for _, found := range listedSpec.FindAllStringSubmatch(printed, -1) {
		names = append(names, found[1])
	}
	return names
}

// A result is the result of one spec. Its state is passed, skipped, failed or another word of Ginkgo's.
type result struct {
	state   string
	took    time.Duration
	message string
}

// readReport returns the results by name from a JSON report of Ginkgo.
func readReport(path string) (map[string]result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts    []string
			LeafNodeType, LeafNodeText string
			State                      string
			RunTime                    time.Duration
			Failure                    struct{ Message string }
		}
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, err
	}
	results := map[string]result{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			if spec.LeafNodeType != "It" {
				continue
			}
			name := strings.Join(append(slices.Clone(spec.ContainerHierarchyTexts), spec.LeafNodeText), " ")
			results[name] = result{state: spec.State, took: spec.RunTime, message: spec.Failure.Message}
		}
	}
	return results, nil
}

// judge prints the result of each spec to run and returns an error unless all passed.
func (l *list) judge(results map[string]result, print func(format string, args ...any)) error {
	passed := 0
	for _, name := range l.names() {
		r, ok := results[name]
		switch {
		case !ok:
			print("  not run          %s", name)
		case r.state == "passed":
			passed++
			print("  passed  %5.0f s  %s", r.took.Seconds(), name)
		default:
			firstLine, _, _ := strings.Cut(r.message, "\n")
			print("  %-7s %5.0f s  %s: %s", r.state, r.took.Seconds(), name, firstLine)
		}
	}
	print("%d of %d specs passed", passed, len(l.Run))
	if passed < len(l.Run) {
		return fmt.Errorf("%d of %d specs did not pass", len(l.Run)-passed, len(l.Run))
	}
	return nil
}
