package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vzones/ci/release/archive"
	"vzones/ci/release/image"
)

const changelog = `# Changelog

## [Unreleased]

### Added

- What comes.

## [1.37.0] - 2026-12-01

- The first one.

## [0.0.9]
`

func TestSection(t *testing.T) {
	for version, want := range map[string]string{"Unreleased": "### Added\n\n- What comes.", "1.37.0": "- The first one."} {
		if got, err := section(changelog, version); err != nil || got != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	for version, want := range map[string]string{"1.37.1": "0 sections", "0.0.9": "nothing", "1.37": "0 sections"} {
		if got, err := section(changelog, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := section(changelog+changelog, "1.37.0"); err == nil {
		t.Error("two sections of one version are accepted")
	}
}

// clone makes a repository with a changelog, a go.mod and one commit.
func clone(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"CHANGELOG.md": changelog,
		"go.mod":       "module vzones\n\ngo 1.26.0\n\nrequire k8s.io/cloud-provider v0.37.1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message", "one", "--date", "2026-11-22T10:00:00Z")
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{
		"-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false",
	}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-11-22T10:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func ready(t *testing.T, dir, version string, snapshot bool) (string, error) {
	t.Helper()
	o := options{tree: tree{dir: dir, version: version}, snapshot: snapshot, stdout: io.Discard}
	if err := o.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o.ready(t.Context())
}

// TestReady: a release comes from a commit, of a version that the changelog has.
func TestReady(t *testing.T) {
	dir := clone(t)
	if notes, err := ready(t, dir, "v1.37.0", false); err != nil || notes != "- The first one." {
		t.Errorf("%q, %v", notes, err)
	}
	refused := func(version, want string) {
		t.Helper()
		if _, err := ready(t, dir, version, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", version, err, want)
		}
	}
	refused("v1.37.1", `0 sections "## [1.37.1]"`)
	refused("1.37.0", "is not of the form")
	refused("v1.37", "is not of the form")
	for _, version := range []string{"v1.36.9", "v1.38.0", "v1.3.0", "v1.370.0", "v0.37.1", "v2.37.0"} {
		refused(version, "go.mod has k8s.io/cloud-provider v0.37.1, so that a release is v1.37.Y")
		if _, err := ready(t, dir, version, true); err == nil {
			t.Errorf("%s is accepted as a snapshot", version)
		}
	}
	if notes, err := ready(t, dir, "v1.37.1", true); err != nil || !strings.Contains(notes, "What comes.") {
		t.Errorf("as a snapshot: %q, %v", notes, err)
	}
	git(t, dir, "tag", "v1.37.0")
	if _, err := ready(t, dir, "v1.37.0", false); err != nil {
		t.Errorf("with its tag: %v", err)
	}
	git(t, dir, "commit", "--quiet", "--allow-empty", "--message", "two")
	refused("v1.37.0", "the tag v1.37.0 is on")
	git(t, dir, "tag", "--delete", "v1.37.0")
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("v1.37.0", "the tree has changes")
	if _, err := ready(t, dir, "v1.37.0", true); err != nil {
		t.Errorf("as a snapshot: %v", err)
	}
}

// TestChartVersion: the chart in the tree has the version of a release that may be made
// of it.
func TestChartVersion(t *testing.T) {
	o := &options{tree: tree{dir: "../.."}}
	text, err := o.read(chartFolder + "/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	app, err := value(string(text), "appVersion")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.followsKubernetes(t.Context(), app); err != nil {
		t.Error(err)
	}
	if version, err := value(string(text), "version"); err != nil || "v"+version != app {
		t.Errorf("version %s, appVersion %s: %v", version, app, err)
	}
}

// TestLook: the time is the commit's, or SOURCE_DATE_EPOCH, which a folder without git needs.
func TestLook(t *testing.T) {
	dir := clone(t)
	look := func(dir string) (*tree, error) {
		l := &tree{dir: dir}
		return l, l.look(t.Context())
	}
	want := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	if l, err := look(dir); err != nil || !l.created.Equal(want) || len(l.commit) != 40 || l.changed {
		t.Errorf("%+v, %v", l, err)
	}
	t.Setenv("GIT_CEILING_DIRECTORIES", filepath.Dir(dir))
	plain := t.TempDir()
	if _, err := look(plain); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("without git: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1000")
	for _, d := range []string{dir, plain} {
		if l, err := look(d); err != nil || l.created.Unix() != 1000 || (l.commit == "") != (d == plain) {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

func TestWithImage(t *testing.T) {
	name := image.Name{Repository: "registry.example.com/ccm", Tag: "v1.37.0"}
	got, err := withImage("kind: DaemonSet\n        image: ccm:v0\n        args: []\n", name)
	if want := "kind: DaemonSet\n        image: registry.example.com/ccm:v1.37.0\n        args: []\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"kind: Pod\n", " image: a\n image: b\n"} {
		if _, err := withImage(text, name); err == nil {
			t.Errorf("%q has one image", text)
		}
	}
}

// TestChart: the package has the version, the repository and no time of today.
func TestChart(t *testing.T) {
	o := &options{tree: tree{version: "v1.2.3-rc.1", created: time.Unix(1e9, 0)}}
	chart := func() []archive.Entry {
		return []archive.Entry{
			{Name: "templates/a.yaml", Mode: 0o644, Content: []byte("version: stays\n")},
			{Name: "Chart.yaml", Mode: 0o644, Content: []byte("name: vzones\nversion: 1.37.0\nappVersion: v1.37.0\n")},
			{Name: "values.yaml", Mode: 0o644, Content: []byte("image:\n  repository: ccm\n  tag: \"\"\n")},
		}
	}
	first, err := packChart(chart(), o, "registry.example.com/ccm")
	if err != nil {
		t.Fatal(err)
	}
	second, err := packChart(chart(), o, "registry.example.com/ccm")
	if err != nil || !bytes.Equal(first.content, second.content) || first.name != "vzones-1.2.3-rc.1.tgz" {
		t.Errorf("two packages of %s and %s differ: %v", first.name, second.name, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(first.content))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"vzones/Chart.yaml":       "name: vzones\nversion: 1.2.3-rc.1\nappVersion: v1.2.3-rc.1\n",
		"vzones/values.yaml":      "image:\n  repository: registry.example.com/ccm\n  tag: \"\"\n",
		"vzones/templates/a.yaml": "version: stays\n",
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if h.Typeflag == tar.TypeReg {
			if err != nil || string(content) != want[h.Name] || h.ModTime.Unix() != 1e9 {
				t.Errorf("%s of %v: %q, %v", h.Name, h.ModTime, content, err)
			}
			delete(want, h.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("it does not have %v", want)
	}
	for i, remove := range []string{"version", "appVersion", "name"} {
		broken := chart()
		broken[1].Content = bytes.ReplaceAll(broken[1].Content, []byte("\n"+remove+": "), []byte("\nx: "))
		if i == 2 {
			broken = broken[:1]
		}
		if _, err := packChart(broken, o, "ccm"); err == nil {
			t.Errorf("a chart without its %s is packed", remove)
		}
	}
}

// TestChartPackage: Helm takes the package of the chart as it is in the tree.
func TestChartPackage(t *testing.T) {
	if _, err := os.Stat("../../bin/tools/helm"); err != nil {
		t.Skip("make helm builds Helm: ", err)
	}
	const version = "v1.37.5"
	o := &options{tree: tree{dir: "../..", version: version, created: time.Unix(1e9, 0)}}
	packed, err := o.chart(t.Context(), "registry.example.com/"+image.Command)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := write(out, packed); err != nil {
		t.Fatal(err)
	}
	checkHelm(t, out, version)
}

// TestReplace: a folder of something else is left alone.
func TestReplace(t *testing.T) {
	o := &options{out: filepath.Join(t.TempDir(), "dist"), stdout: io.Discard}
	for _, name := range []string{"old", "new"} {
		if err := o.replace([]artifact{{name, []byte(name)}, {"SHA256SUMS", nil}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(o.out, "old")); err == nil {
		t.Error("a file of the release before is still there")
	}
	if err := os.Remove(filepath.Join(o.out, "SHA256SUMS")); err != nil {
		t.Fatal(err)
	}
	if err := o.replace(nil); err == nil {
		t.Error("a folder with other files is replaced")
	}
	if _, err := os.Stat(filepath.Join(o.out, "new")); err != nil {
		t.Error(err)
	}
}

func TestRun(t *testing.T) {
	for want, args := range map[string][]string{
		"-version is missing": {"image"},
		"want one of image":   {"-version", "v1.37.0"},
		"unknown command":     {"-version", "v1.37.0", "-source", clone(t), "push"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func TestPackageOf(t *testing.T) {
	for symbol, want := range map[string]string{
		"main.main":                                       "main",
		"k8s.io/api/core/v1.(*Pod).Marshal":               "k8s.io/api/core/v1",
		"gopkg.in/gcfg%2ev1.Read":                         "gopkg.in/gcfg.v1",
		"type:.eq.k8s.io/api/core/v1.Taint":               "k8s.io/api/core/v1",
		"go:itab.*os.File,io.Reader":                      "os",
		"sync/atomic.(*Pointer[go.shape.struct {}]).Load": "sync/atomic",
		"go:func.*":                        "",
		"runtime.text":                     "runtime",
		"type:func(*example.com/a.T) bool": "",
	} {
		if got := packageOf(symbol); got != want {
			t.Errorf("%s is of %q, want %q", symbol, got, want)
		}
	}
	modules := []string{"vzones", "example.com/a", "example.com/a/v2"}
	for pkg, want := range map[string]string{
		"main": "vzones", "vzones/config": "vzones", "example.com/a/v2/x": "example.com/a/v2",
		"example.com/ab": "Go's standard library", "os": "Go's standard library",
	} {
		if got := moduleOf(pkg, modules); got != want {
			t.Errorf("%s is of %q, want %q", pkg, got, want)
		}
	}
}
