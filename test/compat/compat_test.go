package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestListNamesWhatThereIs: every listed test exists, because go test ignores unknown names.
func TestListNamesWhatThereIs(t *testing.T) {
	list, err := readList()
	if err != nil {
		t.Fatal(err)
	}
	for pkg, names := range list {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var sources strings.Builder
		for _, f := range files {
			sources.WriteString(read(t, strings.TrimPrefix(f, root)))
		}
		for _, name := range names {
			name, scenario, isScenario := strings.Cut(name, "/")
			if _, err := os.Stat(filepath.Join(root, pkg, scenario+".txtar")); isScenario && err != nil {
				t.Error(err)
			}
			if !strings.Contains(sources.String(), "\nfunc "+name+"(t *testing.T)") {
				t.Errorf("%s has no %s", pkg, name)
			}
		}
	}
	if len(list["./test/scenarios"]) < 10 || len(list["./test/stack"]) < 3 {
		t.Errorf("the list has only %v", list)
	}
}

// TestEachMinorIsBuiltFromOneVersion: the modules cover the four newest minor versions, each with all of
// Kubernetes from a single release. Libraries built into the daemon are of the newest.
func TestEachMinorIsBuiltFromOneVersion(t *testing.T) {
	all, err := buildable(root)
	if err != nil || len(all) != 4 {
		t.Fatalf("there are %+v, %v; want four", all, err)
	}
	var newest int
	if _, err := fmt.Sscanf(all[0].minor, "1.%d", &newest); err != nil {
		t.Fatal(err)
	}
	replaced := regexp.MustCompile(`(?m)^\t(k8s\.io/\S+) => (\S+) (v\S+)$`)
	for i, k := range all {
		if want := fmt.Sprintf("1.%d", newest-i); k.minor != want || i > 0 && filepath.Base(k.module) != want {
			t.Errorf("%s builds Kubernetes %s, not %s", k.module, k.version, want)
		}
		found := replaced.FindAllStringSubmatch(read(t, k.module+"/go.mod"), -1)
		for _, r := range found {
			if r[1] != r[2] || r[3] != "v0"+strings.TrimPrefix(k.version, "v1") {
				t.Errorf("%s/go.mod replaces %q, want the version of Kubernetes %s", k.module, r[0], k.version)
			}
		}
		if len(found) < 30 {
			t.Errorf("%s: %d replacements, want those of all staging modules", k.version, len(found))
		}
	}
	library := "\n\tk8s.io/cloud-provider v0" + strings.TrimPrefix(all[0].version, "v1") + "\n"
	if !strings.Contains(read(t, "go.mod"), library) {
		t.Errorf("go.mod does not have %s, as the control plane of the tests", strings.TrimSpace(library))
	}
}

// TestChartAndPageNameTheTestedVersions: the chart requires the oldest minor version in the table of results, and the
// page's summary names the oldest and the newest.
func TestChartAndPageNameTheTestedVersions(t *testing.T) {
	page := read(t, pageFile)
	section := resultTable.FindStringSubmatch(page)
	if section == nil {
		t.Fatalf("%s has no table of results", pageFile)
	}
	var minors []string
	for line := range strings.Lines(section[2]) {
		if minor := resultRow.FindStringSubmatch(line); minor != nil {
			minors = append(minors, minor[1])
		}
	}
	if len(minors) == 0 {
		t.Fatalf("the table of results in %s has no rows", pageFile)
	}
	newest := minors[0]
	oldest := minors[len(minors)-1]
	if want := fmt.Sprintf("\nkubeVersion: \">=%s.0-0\"\n", oldest); !strings.Contains(read(t, "manifests/chart/Chart.yaml"), want) {
		t.Errorf("Chart.yaml does not contain %q, the oldest version in the table of %s", strings.TrimSpace(want), pageFile)
	}
	if want := fmt.Sprintf("\n| Kubernetes | a real control plane of %s to %s,", oldest, newest); !strings.Contains(page, want) {
		t.Errorf("%s does not contain %q, as its table of results", pageFile, strings.TrimSpace(want))
	}
}

// TestVersionsOfThePage: the versions on the page match the modules.
func TestVersionsOfThePage(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| [^|]*`([a-z0-9./-]+)` \\| (v\\S+) \\|").FindAllStringSubmatch(read(t, pageFile), -1)
	if len(rows) < 5 {
		t.Errorf("the page has only %d versions of modules", len(rows))
	}
	modules := read(t, "go.mod") + read(t, "test/controlplane/go.mod") + read(t, "test/incumbent/go.mod")
	for _, row := range rows {
		if required := regexp.MustCompile(`(?m)^\t?(require )?` + row[1] + ` ` + row[2] + `\b`); !required.MatchString(modules) {
			t.Errorf("no go.mod requires %s %s", row[1], row[2])
		}
	}
}

// TestPassed: skipped and missing tests have not passed, and the pattern matches only the given names.
func TestPassed(t *testing.T) {
	printed := bytes.NewBufferString(`{"Action":"pass","Test":"T/good"}
{"Action":"skip","Test":"T/skipped"}
{"Action":"fail","Test":"T/bad"}
not JSON
{"Action":"pass"}`)
	names := []string{"T/bad", "T/good", "T/missing", "T/skipped"}
	if got := without(names, passed(printed)); !slices.Equal(got, []string{"T/bad", "T/missing", "T/skipped"}) {
		t.Errorf("not passed: %v", got)
	}
	if got := pattern([]string{"T/a", "U"}); got != "^T$/^a$|^U$" {
		t.Errorf("the pattern is %s", got)
	}
}

// TestRow: each minor version has one row, and a version that cannot be built has none.
func TestRow(t *testing.T) {
	page := func(rows string) string {
		return "x\n<!-- results: written by make compat -->\n| Kubernetes |\n|---|\n" + rows + "<!-- end of results -->\ny\n"
	}
	all := []kubernetes{{minor: "1.37"}, {minor: "1.36"}}
	got, err := withRow(page("| v1.36.3 |\n| v1.35.8 |\n"), all, all[0], "| v1.37.1 |\n")
	if want := page("| v1.37.1 |\n| v1.36.3 |\n"); got != want || err != nil {
		t.Errorf("withRow of a minor without a row: error %v, got:\n%s\nwant:\n%s", err, got, want)
	}
	got, err = withRow(got, all, all[1], "| v1.36.4 |\n")
	if want := page("| v1.37.1 |\n| v1.36.4 |\n"); got != want || err != nil {
		t.Errorf("withRow of a minor with a row: error %v, got:\n%s\nwant:\n%s", err, got, want)
	}
	if _, err := withRow(read(t, pageFile), all, all[0], ""); err != nil {
		t.Error(err)
	}
}
