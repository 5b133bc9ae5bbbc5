package main

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/stack"
)

// A part is something that goes wrong: what somebody types, and what status then shows.
type part struct {
	title  string
	blocks []block
}

// A block is either what somebody types or what status then shows.
type block struct {
	typed bool
	lines []string
}

func typing(lines ...string) block { return block{typed: true, lines: lines} }

func showing(lines ...string) block { return block{lines: lines} }

// parts are those of the tutorial.
var parts = []part{
	{"a machine moves to another zone", []block{
		typing("vmotion paris-1-0000 d1-host-1"),
		showing(
			"paris-1-0000 True paris paris-1 paris/dc-2/host/d1/d1-host-1 …",
			`4s Warning TopologyDrift node/paris-1-0000 …topology.kubernetes.io/zone…"paris-1"…"paris-2"…`,
		),
		typing("vmotion paris-1-0000 c1-host-1"),
	}},
	{"a machine is cloned", []block{
		typing("clone paris-1-0001 milan"),
		showing(
			"paris-1-0001 True paris paris-1 paris/dc-1/host/c1/c1-host-2 and milan/dc-1/host/c1/c1-host-1 …",
			`4s Warning Ambiguous node/paris-1-0001 …/dc-1/vm/paris-1-0001 of vCenter "paris"…/dc-1/vm/paris-1-0001-clone of vCenter "milan"…`,
		),
		typing("destroy paris-1-0001-clone"),
	}},
	{"a machine is deleted", []block{
		typing("destroy milan-1-0003"),
		showing(
			"23 Nodes, 0 of them not initialized",
			"2s Normal DeletingNode node/milan-1-0003 …",
		),
	}},
	{"a vCenter hangs", []block{
		typing("hang porto", "join milan"),
		showing("milan-new-1 True milan milan-1 …"),
		typing("join porto", "destroy milan-2-0003"),
		showing(
			"milan-2-0003 Unknown milan milan-2 <none> …",
			"porto-1-0000 True porto porto-1 …",
			"porto-new-1 True <none> <none> … node.cloudprovider.kubernetes.io/uninitialized:NoSchedule…",
			`4s Warning VCenterUnreachable node/porto-new-1 …vCenter "porto"…`,
		),
		typing("recover porto"),
		showing(
			"porto-new-1 True porto porto-1 …",
			"2s Normal DeletingNode node/milan-2-0003 …",
		),
	}},
	{"a password is changed in the vCenter only", []block{
		typing("password paris"),
		showing(
			"paris-1-0002 True paris paris-1 …",
			`4s Warning CredentialsRejected pod/cloud-controller-manager-0 …vCenter "paris"…password…`,
		),
		typing("secret"),
		showing(`2s Normal VCenterRecovered pod/cloud-controller-manager-0 …"paris"…CredentialsRejected…`),
	}},
}

// TestTutorial plays each part, with the daemon, a control plane and the vCenters of the demo: what is to be
// shown has to come, and in the end no session is left.
func TestTutorial(t *testing.T) {
	t.Parallel()
	binary := daemonBinary(t)
	for _, p := range parts {
		t.Run(p.title, func(t *testing.T) {
			t.Parallel()
			p.play(t, binary)
		})
	}
}

// play starts what DEMO_KEEP=1 keeps, but for the Pods, and does what the part says.
func (p part) play(t *testing.T, binary string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stack.Slower(4*time.Minute))
	defer cancel()
	d, daemon, out := kept(t, binary)
	w := &world{out: out, stack: d.stack, daemon: true}
	for _, b := range p.blocks {
		if b.typed {
			enterCommands(ctx, t, w, out, b.lines)
		} else {
			b.await(ctx, t, w, out)
		}
	}
	p.checkGone(ctx, t, w)
	finish(t, w, d, daemon)
}

// enterCommands types commands, each of which has to be taken and says what to look at.
func enterCommands(ctx context.Context, t *testing.T, w *world, out *bytes.Buffer, lines []string) {
	t.Helper()
	for _, line := range lines {
		out.Reset()
		if err := w.obey(ctx, line); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		t.Logf("%s\n%s", line, out)
		undone := strings.HasSuffix(line, "-clone")
		if looks := strings.Contains(out.String(), "\n  Look: status, or kubectl "); looks == undone {
			t.Fatalf("%s: not carried out:\n%s", line, out)
		}
	}
}

// await waits until one status shows all lines of the block.
func (b block) await(ctx context.Context, t *testing.T, w *world, out *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, stack.Slower(90*time.Second))
	defer cancel()
	began := time.Now()
	for {
		out.Reset()
		if err := w.obey(ctx, "status"); err != nil {
			t.Fatal(err)
		}
		missing := slices.DeleteFunc(slices.Clone(b.lines), func(line string) bool { return shows(out.String(), line) })
		if len(missing) == 0 {
			t.Logf("shown after %v:\n%s", time.Since(began).Round(time.Second), strings.Join(b.lines, "\n"))
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("after %v the lines\n%s\nare not all in\n%s", time.Since(began), strings.Join(missing, "\n"), out)
		}
	}
}

var (
	blanks = regexp.MustCompile(` +`)
	age    = regexp.MustCompile(`^\d+[smh](\d+s)? `)
)

// shows reports whether a text has a line. An ellipsis is anything, and the
// ages of Events differ.
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

// checkGone checks that the Nodes of the machines that were destroyed are gone, and no others.
func (p part) checkGone(ctx context.Context, t *testing.T, w *world) {
	t.Helper()
	for _, m := range initialMachines(t) {
		destroyed := slices.ContainsFunc(p.blocks, func(b block) bool { return b.typed && slices.Contains(b.lines, "destroy "+m) })
		_, err := w.stack.Client.CoreV1().Nodes().Get(ctx, m, metav1.GetOptions{})
		if gone := apierrors.IsNotFound(err); gone != destroyed {
			t.Errorf("Node %s: gone is %v, but its machine destroyed is %v: %v", m, gone, destroyed, err)
		}
	}
}
