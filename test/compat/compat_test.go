package main

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables into docs/reference/compatibility.md")

const root = "../.."

func entries(t *testing.T) []entry {
	t.Helper()
	all, err := readList(listYAML)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestThePageIsCurrent: the page shows what is recorded, and the pins are those of the
// modules.
func TestThePageIsCurrent(t *testing.T) {
	runs, err := readRecord(root)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := writePage(root, entries(t), runs); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	want, err := page(root, string(data), entries(t), runs)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(data)); d != "" {
		t.Errorf("%s is not current; go test ./test/compat -run TestThePageIsCurrent -update writes it (-want +got):\n%s", pageFile, d)
	}
}

// TestTheListNamesWhatThereIs: go test runs nothing for a name that nothing has.
func TestTheListNamesWhatThereIs(t *testing.T) {
	files, err := filepath.Glob("../stack/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests += string(data)
	}
	kinds := make(map[string]int)
	for _, e := range entries(t) {
		kinds[e.Kind]++
		switch e.Kind {
		case kindScenario:
			if _, err := os.Stat(filepath.Join("..", "scenarios", e.Name+".txtar")); err != nil {
				t.Error(err)
			}
		case kindTest:
			if !strings.Contains(tests, "\nfunc "+e.Name+"(t *testing.T)") {
				t.Errorf("test/stack has no %s", e.Name)
			}
		}
	}
	if kinds[kindDemo] != 1 || kinds[kindScenario] < 10 || kinds[kindTest] < 3 {
		t.Errorf("there are %v", kinds)
	}
}

func TestMistakesInTheList(t *testing.T) {
	for text, want := range map[string]string{
		"- {name: a, kind: story, covers: x}":                               `"a": kind "story" is not demo, scenario or test`,
		"- {name: a, kind: test}":                                           "name and covers are required",
		"- {name: a, kind: test, covers: x, from: '1.35'}":                  "from and because come together",
		"- {name: a, kind: test, covers: x, from: 1.35.1, because: y}":      `"1.35.1" is not a minor`,
		"- {name: a, kind: test, covers: x, since: 1}":                      "field since not found",
		"- &a {name: a, kind: test, covers: x}\n- {<<: *a, kind: scenario}": "there twice",
	} {
		if _, err := readList([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

// TestLeftOut: an older minor leaves out what it lacks and says what that is; no other
// rule leaves anything out.
func TestLeftOut(t *testing.T) {
	e := entry{Name: "a", From: "1.36", Because: "it has no such field"}
	for minor, want := range map[string]string{"1.9": "from 1.36 on: it has no such field", "1.35": "from 1.36 on: it has no such field", "1.36": "", "1.100": ""} {
		if got, err := e.leftOut(minor); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", minor, got, err, want)
		}
	}
}

// TestEachMinorIsBuiltFromOneVersion: the modules give the four newest minors, the
// newest is what all tests run with, and each takes all of Kubernetes from one release.
func TestEachMinorIsBuiltFromOneVersion(t *testing.T) {
	all, err := buildable(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 || !all[0].pinned {
		t.Fatalf("there are %+v, want four, and the pinned one the newest", all)
	}
	replaced := regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => (\S+) (v\S+)$`)
	for i, k := range all {
		if number(k) != number(all[0])-i {
			t.Errorf("%s is not the minor before that of %s", k.version, all[0].version)
		}
		folder := controlPlane
		if !k.pinned {
			folder = versions + "/" + k.minor
		}
		data, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		found := replaced.FindAllStringSubmatch(string(data), -1)
		for _, r := range found {
			if r[1] != r[2] || r[3] != "v0"+strings.TrimPrefix(k.version, "v1") {
				t.Errorf("%s: %s", k.version, r[0])
			}
		}
		if len(found) < 30 {
			t.Errorf("%s: %d replacements, want those of all staging modules", k.version, len(found))
		}
	}
}

func TestChoose(t *testing.T) {
	all := []kubernetes{{minor: "1.37"}, {minor: "1.36"}, {minor: "1.35"}}
	if got, err := choose(all, nil); err != nil || len(got) != 3 {
		t.Errorf("%v, %v; want all", got, err)
	}
	if got, err := choose(all, []string{"1.35", "1.37"}); err != nil || len(got) != 2 || got[0].minor != "1.35" {
		t.Errorf("%v, %v; want these two", got, err)
	}
	if _, err := choose(all, []string{"1.20"}); err == nil || !strings.Contains(err.Error(), "K8S=1.20: no module") {
		t.Errorf("error %v", err)
	}
}

// TestOutcomes: what go test prints counts, and what it says nothing of has failed.
func TestOutcomes(t *testing.T) {
	wanted := []entry{{Name: "good"}, {Name: "bad"}, {Name: "skipped"}, {Name: "missing"}}
	const printed = `{"Action":"output","Test":"T/good","Output":"all is well\n"}
{"Action":"pass","Test":"T/good"}
{"Action":"fail","Test":"T/bad"}
{"Action":"skip","Test":"T/skipped"}
{"Action":"pass","Test":"T/other"}
not JSON
{"Action":"pass"}`
	var log strings.Builder
	got := outcomes(strings.NewReader(printed), &log, suite{below: "T"}, wanted)
	want := map[string]result{
		"good":    {"good", passed, ""},
		"bad":     {"bad", failed, "see the log of the run"},
		"skipped": {"skipped", failed, "it left itself out"},
		"missing": {"missing", failed, "it did not run"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if log.String() != "all is well\nnot JSON\n" {
		t.Errorf("the log is %q", log.String())
	}
	if got := outcomes(strings.NewReader(`{"Action":"pass","Test":"good"}`), io.Discard, suite{}, wanted[:1]); got["good"].Outcome != passed {
		t.Errorf("a test of its own: %v", got)
	}
}

// TestAnErrorOfNobodyIsEverybodys: such as of a goroutine that tests have left.
func TestAnErrorOfNobodyIsEverybodys(t *testing.T) {
	all := map[string]result{"a": {"a", passed, ""}}
	if got := after(all, os.ErrClosed)["a"]; got.Outcome != failed || got.Why == "" {
		t.Errorf("it is %+v", got)
	}
	all = map[string]result{"a": {"a", passed, ""}, "b": {"b", failed, "x"}}
	if got := after(all, os.ErrClosed)["a"]; got.Outcome != passed {
		t.Errorf("beside one that failed it is %+v", got)
	}
}

// TestSecondAttempt: what passed at the second attempt is recorded as such.
func TestSecondAttempt(t *testing.T) {
	if got := secondAttempt(result{"a", passed, ""}); got != (result{"a", passed, "at the second attempt"}) {
		t.Errorf("it is %+v", got)
	}
	bad := secondAttempt(result{"a", failed, "it did not run"})
	if bad != (result{"a", failed, "it did not run, twice"}) {
		t.Errorf("it is %+v", bad)
	}
	table := resultTable([]entry{{Name: "a"}, {Name: "b"}, {Name: "c"}}, []run{{Kubernetes: "v1.36.4", Results: []result{bad, {"b", passed, "at the second attempt"}}}})
	for _, want := range []string{"| 1 of 3 | `a` | none | `c` |", "`a`: failed: it did not run, twice\n", "`b`: passed: at the second attempt\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

// TestASecondRunAddsToTheFirst of the same version and commit, and to no other.
func TestASecondRunAddsToTheFirst(t *testing.T) {
	first := run{Kubernetes: "v1.36.4", Commit: "x", Results: []result{{"a", passed, ""}, {"b", failed, "slow"}}}
	second := run{Kubernetes: "v1.36.4", Commit: "x", Results: []result{{"b", passed, ""}}}
	if got := with([]run{first}, second); len(got) != 1 || !slices.Equal(got[0].Results, []result{{"b", passed, ""}, {"a", passed, ""}}) {
		t.Errorf("it is %+v", got)
	}
	for name, change := range map[string]func(*run){"commit": func(r *run) { r.Commit = "y" }, "version": func(r *run) { r.Kubernetes = "v1.36.5" }} {
		other := second
		change(&other)
		if got := with([]run{first}, other); len(got) != 1 || len(got[0].Results) != 1 {
			t.Errorf("with another %s it is %+v", name, got)
		}
	}
}

func TestOnly(t *testing.T) {
	all := entries(t)
	if got, err := only(all, nil); err != nil || len(got) != len(all) {
		t.Errorf("%v, %v; want all", got, err)
	}
	if got, err := only(all, []string{"first-light"}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v; want one", got, err)
	}
	if _, err := only(all, []string{"first"}); err == nil || !strings.Contains(err.Error(), "ONLY=first") {
		t.Errorf("error %v", err)
	}
}

func TestPattern(t *testing.T) {
	two := []entry{{Name: "a"}, {Name: "b"}}
	if got := (suite{below: "T"}).pattern(two); got != "^T$/^(a|b)$" {
		t.Errorf("it is %s", got)
	}
	if got := (suite{}).pattern(two); got != "^(a|b)$" {
		t.Errorf("it is %s", got)
	}
}

// TestMistakesInTheRecord: nothing is recorded of a tree that was not committed, and no
// failure without its reason.
func TestMistakesInTheRecord(t *testing.T) {
	good := run{Kubernetes: "v1.36.4", Commit: strings.Repeat("0", 40), Date: "2026-11-22", Results: []result{{"a", passed, ""}}}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*run){
		"version": func(r *run) { r.Kubernetes = "1.36" },
		"commit":  func(r *run) { r.Commit += "-dirty" },
		"date":    func(r *run) { r.Date = "today" },
		"results": func(r *run) { r.Results = nil },
		"why":     func(r *run) { r.Results = []result{{"a", failed, ""}} },
		"outcome": func(r *run) { r.Results = []result{{"a", "well", ""}} },
	} {
		bad := good
		if spoil(&bad); bad.check() == nil {
			t.Errorf("%s: no error for %+v", name, bad)
		}
	}
}

// TestWith: a minor has one run, its last, and the newest minor comes first.
func TestWith(t *testing.T) {
	runs := with(with(with(nil, run{Kubernetes: "v1.9.1"}), run{Kubernetes: "v1.36.3"}), run{Kubernetes: "v1.36.4"})
	var got []string
	for _, r := range runs {
		got = append(got, r.Kubernetes)
	}
	if want := []string{"v1.36.4", "v1.9.1"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestVersionsGoTogether: a release is named after the minor of the libraries that are
// built in, and everything else runs with the control plane of that minor.
func TestVersionsGoTogether(t *testing.T) {
	kubernetes, err := required(root, controlPlane, modKubernetes)
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"k8s.io/cloud-provider", "k8s.io/client-go", "k8s.io/api", "k8s.io/component-base"} {
		library, err := required(root, ".", module)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := "v0" + strings.TrimPrefix(kubernetes, "v1"); library != want {
			t.Errorf("%s is %s, and the control plane of the tests is Kubernetes %s", module, library, kubernetes)
		}
	}
}
