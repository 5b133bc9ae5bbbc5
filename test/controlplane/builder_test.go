package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a builder whose compiler only writes the program's key.
type fake struct {
	builder
	version string
	fail    error
	built   []string
	said    []string
}

func newFake(out string) *fake {
	f := &fake{version: "1"}
	f.builder = builder{
		out: out,
		key: func(p program) string { return p.name + f.version },
		say: func(line string) { f.said = append(f.said, line) },
		compile: func(_ context.Context, p program, file string) error {
			f.built = append(f.built, p.name)
			if err := os.WriteFile(file, []byte(p.name+f.version), 0o755); err != nil {
				return err
			}
			return f.fail
		},
	}
	return f
}

// ran returns what one run built and said.
func (f *fake) ran(t *testing.T, wanted ...string) (built []string, said string) {
	t.Helper()
	f.built, f.said = nil, nil
	chosen, err := choose(programs, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.run(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	return f.built, strings.Join(f.said, "\n")
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestBuildsInTheOrderOfNeed(t *testing.T) {
	f := newFake(filepath.Join(t.TempDir(), "bin"))
	built, said := f.ran(t, "kube-scheduler", "kube-apiserver", "etcd")
	if want := []string{"etcd", "kube-apiserver", "kube-scheduler"}; !slices.Equal(built, want) {
		t.Errorf("built %v, want %v", built, want)
	}
	for _, want := range []string{"1 of 3, etcd: building", "3 of 3, kube-scheduler: built in", "five minutes"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in what was said:\n%s", want, said)
		}
	}
	if built, _ := f.ran(t); !slices.Equal(built, []string{"kube-controller-manager"}) {
		t.Errorf("asked for all afterwards: built %v, want the missing one only", built)
	}
}

func TestLeavesAloneWhatIsCurrent(t *testing.T) {
	f := newFake(t.TempDir())
	f.ran(t)
	if built, said := f.ran(t); len(built) > 0 || strings.Count(said, "\n") > 0 {
		t.Errorf("built %v and said %q, want nothing and one line", built, said)
	}

	f.version = "2"
	if built, _ := f.ran(t, "etcd"); !slices.Equal(built, []string{"etcd"}) {
		t.Errorf("after a change of the key: built %v, want etcd", built)
	}
	if got := content(t, filepath.Join(f.out, "etcd")); got != "etcd2" {
		t.Errorf("the binary is %q, want the new one", got)
	}

	if err := os.Remove(filepath.Join(f.out, "etcd")); err != nil {
		t.Fatal(err)
	}
	if built, _ := f.ran(t, "etcd"); !slices.Equal(built, []string{"etcd"}) {
		t.Errorf("without the binary: built %v, want etcd", built)
	}
}

func TestFailureKeepsTheOldBinary(t *testing.T) {
	f := newFake(t.TempDir())
	f.ran(t, "etcd")
	f.version, f.fail = "2", errors.New("no space left")
	if err := f.run(t.Context(), programs[:1]); err == nil || !strings.Contains(err.Error(), "etcd: no space left") {
		t.Errorf("error %v, want one that names etcd and the cause", err)
	}
	if got := content(t, filepath.Join(f.out, "etcd")); got != "etcd1" {
		t.Errorf("the binary is %q, want the old one untouched", got)
	}
	entries, err := os.ReadDir(f.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
	f.version, f.fail = "1", nil
	if built, _ := f.ran(t, "etcd"); len(built) > 0 {
		t.Errorf("built %v, want the old binary to be current still", built)
	}
}

func TestTakesWhatKubebuilderAssetsHolds(t *testing.T) {
	f := newFake(t.TempDir())
	f.assets = t.TempDir()
	etcd := filepath.Join(f.assets, "etcd")
	if err := os.WriteFile(etcd, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	// Not executable, so it is none.
	if err := os.WriteFile(filepath.Join(f.assets, "kube-scheduler"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	built, said := f.ran(t, "etcd", "kube-scheduler")
	if !slices.Equal(built, []string{"kube-scheduler"}) {
		t.Errorf("built %v, want kube-scheduler", built)
	}
	if !strings.Contains(said, etcd) {
		t.Errorf("%s is not in what was said:\n%s", etcd, said)
	}
}

func TestTwoBuildsAtOnceBuildOnce(t *testing.T) {
	out := t.TempDir()
	var built, running atomic.Int32
	var wait sync.WaitGroup
	for range 4 {
		b := builder{
			out: out,
			key: func(program) string { return "key" },
			say: func(string) {},
			compile: func(_ context.Context, _ program, file string) error {
				if running.Add(1) != 1 {
					t.Error("two builds of one folder run at once")
				}
				defer running.Add(-1)
				built.Add(1)
				return os.WriteFile(file, nil, 0o755)
			},
		}
		wait.Go(func() {
			if err := b.run(t.Context(), programs); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := int(built.Load()); got != len(programs) {
		t.Errorf("%d builds, want %d", got, len(programs))
	}
}

func TestWaitingForAnotherBuildEndsWithTheContext(t *testing.T) {
	holder := newFake(t.TempDir())
	unlock, err := holder.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	f := newFake(holder.out)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.run(ctx, programs); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	if len(f.built) > 0 || !slices.Contains(f.said, "waiting for another build to end") {
		t.Errorf("built %v and said %q, want nothing built and the reason", f.built, f.said)
	}
}

func TestUnknownProgram(t *testing.T) {
	if _, err := choose(programs, []string{"etcd", "kubelet"}); err == nil || !strings.Contains(err.Error(), `"kubelet"`) {
		t.Errorf("error %v, want one that names kubelet", err)
	}
}

func TestBuildFlagsCarryTheVersion(t *testing.T) {
	flags, err := buildFlags("v1.37.1")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(flags, " ")
	for _, want := range []string{"-mod=readonly", "-trimpath", "-s -w", "version.gitVersion=v1.37.1", "version.gitMajor=1", "version.gitMinor=37"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not in %q", want, line)
		}
	}
	if _, err := buildFlags("latest"); err == nil {
		t.Error("no error for what is no version")
	}
}

func TestKeyFollowsTheModule(t *testing.T) {
	tool, err := newToolchain(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	if tool.key(programs[0]) == tool.key(programs[1]) {
		t.Error("two programs have one key")
	}
	other := *tool
	other.base += "x"
	if tool.key(programs[0]) == other.key(programs[0]) {
		t.Error("the key does not follow what is built from")
	}
	for _, part := range []string{content(t, "go.mod"), content(t, "go.sum"), "-trimpath", "go1."} {
		if !strings.Contains(tool.base, part) {
			t.Errorf("the key does not cover %.20q", part)
		}
	}
}

func TestSaysThatItStillBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake("")
		f.compile = func(context.Context, program, string) error {
			<-time.After(95 * time.Second)
			return nil
		}
		if err := f.watch(t.Context(), programs[0], "", "1 of 1, etcd", time.Now()); err != nil {
			t.Fatal(err)
		}
		want := []string{"1 of 1, etcd: still building, 30s", "1 of 1, etcd: still building, 1m0s", "1 of 1, etcd: still building, 1m30s"}
		if !slices.Equal(f.said, want) {
			t.Errorf("said %q, want %q", f.said, want)
		}
	})
}

// TestSourceOf: an older minor has a module and a folder of its own, and shares etcd.
func TestSourceOf(t *testing.T) {
	own, err := sourceOf("")
	if err != nil || own.dir != "." || own.out != "../../bin/controlplane" || len(own.programs) != len(programs) {
		t.Errorf("%+v, %v", own, err)
	}
	folders, err := os.ReadDir(versionsFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		s, err := sourceOf(f.Name())
		if err != nil {
			t.Error(err)
			continue
		}
		if s.dir != filepath.Join("versions", f.Name()) || s.out != "../../bin/controlplane-"+f.Name() {
			t.Errorf("%s: %+v", f.Name(), s)
		}
		if want := []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}; !slices.Equal(names(s.programs), want) {
			t.Errorf("%s: programs %v, want %v", f.Name(), names(s.programs), want)
		}
		if _, err := choose(s.programs, []string{"etcd"}); err == nil {
			t.Errorf("%s: etcd is built too", f.Name())
		}
	}
	for _, bad := range []string{"1", "v1.36", "../1.36", "1.2"} {
		if s, err := sourceOf(bad); err == nil {
			t.Errorf("%q: %+v and no error", bad, s)
		}
	}
}
