package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"vzones/test/cluster"
	"vzones/test/stack"
)

// A block is either typed input or the expected output of status.
type block struct {
	typed bool
	lines []string
}

func typing(lines ...string) block { return block{typed: true, lines: lines} }

func showing(lines ...string) block { return block{lines: lines} }

// fromPage returns the text blocks in a section of the tutorial's second part. There must be n.
func fromPage(t *testing.T, heading string, n int) []block {
	t.Helper()
	var all []block
	for _, text := range blocks(t, "docs/tutorial/first-cluster.md", heading, "text") {
		name, _, _ := strings.Cut(text, " ")
		isTyped := slices.ContainsFunc(commands(), func(c command) bool { return c.name == name })
		all = append(all, block{typed: isTyped, lines: strings.Split(strings.TrimSpace(text), "\n")})
	}
	if len(all) != n {
		t.Fatalf("%s has %d text blocks, want %d", heading, len(all), n)
	}
	return all
}

// tutorial returns the tutorial's failures, with further expected output and commands not on the page.
func tutorial(t *testing.T) []block {
	t.Helper()
	moves := fromPage(t, "### A VM moves to another zone", 3)
	hangs := fromPage(t, "### A vCenter hangs", 3)
	deleted := fromPage(t, "### A VM is deleted", 2)
	return slices.Concat(
		moves[:2],
		[]block{showing("paris-1-0000 True paris paris-1 <none>")},
		moves[2:],
		[]block{
			// a VM is cloned
			typing("clone paris-1-0001 milan"),
			showing(
				"paris-1-0001 True paris paris-1 <none>",
				`4s Warning Ambiguous node/paris-1-0001 …/dc-1/vm/paris-1-0001-clone of vCenter "milan"…/dc-1/vm/paris-1-0001 of vCenter "paris"…`,
			),
			typing("destroy paris-1-0001-clone"),
		},
		hangs[:1],
		[]block{showing("milan-new-1 True milan milan-1 <none>"), typing("destroy milan-2-0003")},
		hangs[1:2],
		[]block{showing(
			"milan-2-0003 Unknown milan milan-2 …",
			"porto-1-0000 True porto porto-1 <none>",
			"porto-new-1 True <none> <none> …node.cloudprovider.kubernetes.io/uninitialized:NoSchedule…",
		)},
		hangs[2:],
		[]block{showing(
			"porto-new-1 True porto porto-1 <none>",
			"2s Normal DeletingNode node/milan-2-0003 …",
		)},
		deleted,
		[]block{
			showing("24 Nodes, 0 of them not initialized"),
		},
	)
}

// TestDemo: the demo succeeds, which includes the metadata of all Nodes and the end of all sessions.
func TestDemo(t *testing.T) {
	t.Parallel()
	binary := daemonBinary(t, cluster.Scheduler)
	out := new(bytes.Buffer)
	d := &demo{out: out, began: time.Now()}
	if err := d.play(t.Context(), binary); err != nil {
		t.Fatalf("the demo ended with the error %v, output:\n%s", err, out)
	}
	t.Log(out)
}

// TestTutorial plays each part as with DEMO_KEEP=1, but without Pods. The expected output appears, the printed
// shell commands work, no other Nodes are deleted, and no session is left.
func TestTutorial(t *testing.T) {
	t.Parallel()
	binary := daemonBinary(t)
	ctx, cancel := context.WithTimeout(t.Context(), stack.Slower(8*time.Minute))
	defer cancel()
	out := new(bytes.Buffer)
	d := &demo{out: out, began: time.Now(), keep: "1", folder: filepath.Join(t.TempDir(), "files")}
	var err error
	if d.stack, err = stack.Start(ctx, stack.Options{Fleet: fleetYAML}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	initial := d.stack.Fleet.VMs()
	daemon, err := d.label(ctx, binary)
	if err != nil {
		t.Fatal(err)
	}
	checkExplained(t, d, daemon, out)
	c := &console{out: out, stack: d.stack}
	var typed []string
	for _, b := range tutorial(t) {
		if !b.typed {
			b.await(ctx, t, c, out)
			continue
		}
		for _, line := range b.lines {
			typed = append(typed, line)
			out.Reset()
			if err := c.execute(ctx, line); err != nil {
				t.Fatalf("obeying %q: %v", line, err)
			}
			t.Logf("%s\n%s", line, out)
		}
	}
	for _, m := range initial {
		_, err := d.stack.Client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
		if gone := apierrors.IsNotFound(err); gone != slices.Contains(typed, "destroy "+m.Name) {
			t.Errorf("Node %s: gone is %v, after %q: %v", m.Name, gone, typed, err)
		}
	}
	// No later command ends this outage.
	if err := c.execute(ctx, "hang porto"); err != nil {
		t.Fatalf("hang porto: %v", err)
	}
	if err := c.release(); err != nil {
		t.Errorf("letting the vCenters answer: %v", err)
	}
	if err := d.end(daemon); err != nil {
		t.Errorf("ending the demo: %v", err)
	}
}

// daemonBinary returns the path of the daemon. It skips the test without a control plane.
func daemonBinary(t *testing.T, programs ...string) string {
	t.Helper()
	if err := cluster.Wanted(programs...); err != nil {
		t.Skip(err)
	}
	binary, err := stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// checkExplained checks the printed instructions: the path of the log and the shell commands. It skips the
// latter without kubectl, which make helm builds.
func checkExplained(t *testing.T, d *demo, daemon *stack.Daemon, out *bytes.Buffer) {
	t.Helper()
	out.Reset()
	if err := d.explain(daemon); err != nil {
		t.Fatalf("explaining the demo: %v", err)
	}
	log, err := os.ReadFile(find(t, out, `(?m)^The daemon's log is (\S+)\.$`))
	if err != nil || !strings.Contains(string(log), `"Placed Node" node="paris-1-0002"`) {
		t.Errorf("the log does not report where paris-1-0002 is: %v\n%s", err, log)
	}
	tools, err := filepath.Abs(filepath.Join("..", "..", "bin", "tools"))
	if err != nil {
		t.Fatalf("looking for tools: %v", err)
	}
	if _, err := os.Stat(filepath.Join(tools, "kubectl")); err != nil {
		t.Logf("without kubectl, which make helm builds, no line is entered: %v", err)
		return
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "vzones/cmd/vzones").CombinedOutput(); err != nil {
		t.Fatalf("building vzones: %v\n%s", err, out)
	}
	exports := find(t, out, `(?m)^  (export .*)$`)
	for _, pattern := range []string{`(?m)^  (vzones .*)$`, `(?m)^  (kubectl .*)$`} {
		line := find(t, out, pattern)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", exports+"\n"+line)
		cmd.Env = append(os.Environ(), "PATH="+strings.Join([]string{dir, tools, os.Getenv("PATH")}, string(os.PathListSeparator)))
		if printed, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("entering %q: %v\n%s", line, err, printed)
		}
	}
}

// find returns the first group of a pattern that must match.
func find(t *testing.T, in *bytes.Buffer, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(in.String())
	if found == nil {
		t.Fatalf("%s does not match\n%s", pattern, in)
	}
	return found[1]
}

// await waits until a single status contains all lines of the block.
func (b block) await(ctx context.Context, t *testing.T, c *console, out *bytes.Buffer) {
	t.Helper()
	began := time.Now()
	var missing []string
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, stack.Slower(90*time.Second), true, func(ctx context.Context) (bool, error) {
		out.Reset()
		if err := c.execute(ctx, "status"); err != nil {
			return false, err
		}
		missing = slices.DeleteFunc(slices.Clone(b.lines), func(line string) bool { return shows(out.String(), line) })
		return len(missing) == 0, nil
	})
	took := time.Since(began).Round(time.Second)
	if err != nil {
		t.Fatalf("after %v the lines\n%s\nare not all in\n%s\n%v", took, strings.Join(missing, "\n"), out, err)
	}
	t.Logf("shown after %v:\n%s", took, strings.Join(b.lines, "\n"))
}

var (
	blanks = regexp.MustCompile(` +`)
	age    = regexp.MustCompile(`^\d+[smh](\d+s)? `)
)

// shows reports whether a text contains a line. An ellipsis matches anything, and the ages of Events are
// ignored.
func shows(text, line string) bool {
	plain := func(line string) string {
		return age.ReplaceAllString(blanks.ReplaceAllString(strings.TrimSpace(line), " "), "AGO ")
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(plain(line)), "…", ".*")
	wanted := regexp.MustCompile("^" + pattern + "$")
	for shown := range strings.Lines(text) {
		if wanted.MatchString(plain(shown)) {
			return true
		}
	}
	return false
}
