package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/test/page"
	"vzones/test/stack"
)

// tutorial is the page whose commands are played.
var tutorial = filepath.Join("..", "..", "docs", "tutorial", "first-cluster.md")

// A part of the page is a heading and the blocks below it.
type part struct {
	heading string
	blocks  []block
}

// A block is either what the reader types or what status then shows.
type block struct {
	typed bool
	lines []string
}

// parts returns the parts of the page that have commands of the demo.
func parts(t *testing.T) []part {
	t.Helper()
	content, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	var all []part
	for _, section := range strings.Split(string(content), "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		p := part{}
		p.heading, section, _ = strings.Cut(section, "\n")
		for _, found := range page.Blocks(section) {
			if found.Kind != "text" {
				continue
			}
			b := block{lines: strings.Split(strings.TrimSpace(found.Text), "\n")}
			b.typed = !slices.ContainsFunc(b.lines, func(line string) bool { return !isCommand(line) })
			p.blocks = append(p.blocks, b)
		}
		if len(p.blocks) > 0 {
			all = append(all, p)
		}
	}
	return all
}

func isCommand(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	return slices.ContainsFunc(table(), func(c command) bool { return c.name == name })
}

// TestTutorialHasAllCommands: each command that does something has a place in the tutorial, and
// what each part says of the result can fail.
func TestTutorialHasAllCommands(t *testing.T) {
	content, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range table() {
		if used := regexp.MustCompile("(?m)(^|`)" + c.name + "( |`|$)"); !used.Match(content) {
			t.Errorf("the tutorial does not have the command %s", c.name)
		}
	}
	all := parts(t)
	if len(all) < 5 {
		t.Errorf("the tutorial has %d parts with commands, want drift, a clone, a deletion, a hanging vCenter and a password", len(all))
	}
	for _, p := range all {
		shown := slices.ContainsFunc(p.blocks, func(b block) bool { return !b.typed })
		if !p.blocks[0].typed || !shown {
			t.Errorf("%s: want a command first, and then what status shows", p.heading)
		}
	}
}

// TestTutorial plays each part of the tutorial, with the daemon, a control plane and the vCenters
// of the demo: what the page shows has to come, and in the end no session is left.
func TestTutorial(t *testing.T) {
	t.Parallel()
	binary := daemonBinary(t)
	for _, p := range parts(t) {
		t.Run(p.heading, func(t *testing.T) {
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
			t.Fatalf("after %v the tutorial's lines\n%s\nare not all in\n%s", time.Since(began), strings.Join(missing, "\n"), out)
		}
	}
}

var (
	blanks = regexp.MustCompile(` +`)
	age    = regexp.MustCompile(`^\d+[smh](\d+s)? `)
)

// shows reports whether a line of the page is one of the text. An ellipsis is anything, and the
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
