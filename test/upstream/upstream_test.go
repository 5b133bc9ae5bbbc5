package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const exampleList = `
concern: zone
run: {spread across zones: zone labels, get a host IP: an address}
leftOut: {^requests: needs a network}
`

func TestReadList(t *testing.T) {
	l, err := readList(listYAML)
	if err != nil {
		t.Fatalf("%s: %v", listFile, err)
	}
	if len(l.Run) < 10 || len(l.LeftOut) < 5 {
		t.Errorf("%s runs %d specs and leaves out %d patterns, want at least 10 and 5", listFile, len(l.Run), len(l.LeftOut))
	}
	for name, text := range map[string]string{
		"unknown key":       "concern: x\nruns: {a: b}",
		"nothing to run":    "concern: x\nleftOut: {a: b}",
		"no reason":         "concern: x\nrun: {a: }",
		"invalid concern":   "concern: (\nrun: {a: b}",
		"invalid left-out":  "concern: x\nrun: {a: b}\nleftOut: {(: c}",
		"no left-out cause": "concern: x\nrun: {a: b}\nleftOut: {c: ''}",
	} {
		if _, err := readList([]byte(text)); err == nil {
			t.Errorf("%s: no error for\n%s", name, text)
		}
	}
}

// TestCheck: the list covers the specs of the built e2e.test.
func TestCheck(t *testing.T) {
	l, err := readList([]byte(exampleList))
	if err != nil {
		t.Fatal(err)
	}
	complete := []string{"spread across zones", "get a host IP", "requests in a zone", "something else"}
	for _, test := range []struct {
		name string
		all  []string
		// wanted is a part of the error, "" for none.
		wanted string
	}{
		{"complete", complete, ""},
		{"a spec was renamed", complete[1:], `no spec is named "spread across zones"`},
		{"a spec is new", append([]string{"zones are unique"}, complete...), `"zones are unique" is neither run nor left out`},
		{"a left-out spec was removed", complete[:2], `"^requests" leaves out no spec`},
	} {
		err := l.check(test.all)
		if fmt.Sprint(err) == "<nil>" != (test.wanted == "") || !strings.Contains(fmt.Sprint(err), test.wanted) {
			t.Errorf("%s: check(%q) = %v, want %q", test.name, test.all, err, test.wanted)
		}
	}
	l.leftOut["^requests"] = l.concern
	if err := l.check(complete); err == nil || !strings.Contains(err.Error(), "is run and left out by") {
		t.Errorf("a spec that is both run and left out: check = %v", err)
	}
}

func TestParseNames(t *testing.T) {
	got := parseNames("The following spec names can be used:\n    k8s.io/kubernetes@v1.37.1/test/e2e/a.go:12: [sig-a] spread: across zones [Serial]\n\n")
	if diff := cmp.Diff([]string{"[sig-a] spread: across zones [Serial]"}, got); diff != "" {
		t.Errorf("names, -want +got:\n%s", diff)
	}
}

// TestJudge: every spec to run must have passed; one that skipped itself or was not run did not.
func TestJudge(t *testing.T) {
	l, err := readList([]byte(exampleList))
	if err != nil {
		t.Fatal(err)
	}
	for state, wanted := range map[string]string{
		"passed":  "",
		"skipped": "1 of 2 specs did not pass",
		"failed":  "1 of 2 specs did not pass",
		"":        "1 of 2 specs did not pass",
	} {
		specs := `{"ContainerHierarchyTexts":["spread"],"LeafNodeType":"It","LeafNodeText":"across zones","State":"passed","RunTime":2000000000},
			{"LeafNodeType":"ReportAfterSuite","State":"passed"}`
		if state != "" {
			specs += fmt.Sprintf(`,{"ContainerHierarchyTexts":["get"],"LeafNodeType":"It","LeafNodeText":"a host IP","State":%q,"Failure":{"Message":"no address\nat x.go"}}`, state)
		}
		report := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(report, []byte(`[{"SpecReports":[`+specs+`]}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		results, err := readReport(report)
		if err != nil {
			t.Fatal(err)
		}
		if got := results["spread across zones"]; got != (result{state: "passed", took: 2 * time.Second}) {
			t.Errorf("the result of the first spec is %+v", got)
		}
		var printed []string
		err = l.judge(results, func(format string, args ...any) { printed = append(printed, fmt.Sprintf(format, args...)) })
		if (err == nil) != (wanted == "") || err != nil && err.Error() != wanted {
			t.Errorf("the second spec %q: judge = %v, want %q; printed:\n%s", state, err, wanted, strings.Join(printed, "\n"))
		}
	}
}
