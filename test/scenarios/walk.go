package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"vzones/test/stack"
)

// describeEvery is the time between two looks with kubectl, which takes a moment itself.
const describeEvery = 500 * time.Millisecond

func walkCommands() []command {
	return []command{
		{"describe NODE shows REASON says TEXT leads-to TEXT [within DURATION]", "what kubectl prints about the Node, or with `pod` about the Events of the daemon's Pod, has that reason and text, " +
			"and the page that docs/reference/events.md names for the reason has the text of what to do", describe},
	}
}

// describe looks as an operator does, who has kubectl and the documentation.
func describe(a *arguments) action {
	object, reason, text, fix := a.word("NODE"), a.word("REASON"), a.word("TEXT"), a.word("TEXT")
	within := a.within()
	a.p.asserts = true
	args := []string{"describe", "node", object}
	if object == "pod" {
		args = []string{"-n", stack.Pod().Namespace, "get", "events", "--field-selector", "involvedObject.name=" + stack.Pod().Name}
	}
	return func(ctx context.Context, w *world) error {
		if err := w.shows(ctx, within, args, reason, text); err != nil {
			return err
		}
		section, page, err := followReason(reason)
		if err == nil && !strings.Contains(oneLine(section), oneLine(fix)) {
			err = fmt.Errorf("%s, where docs/reference/events.md leads from %s, does not say %q", page, reason, fix)
		}
		return err
	}
}

// shows returns an error unless kubectl prints a line with a reason and a text in time.
func (w *world) shows(ctx context.Context, within time.Duration, args []string, reason, text string) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	kubectl := filepath.Join("..", "..", "bin", "tools", "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		return fmt.Errorf("make helm builds kubectl: %w", err)
	}
	var last []byte
	for {
		cmd := exec.CommandContext(ctx, kubectl, append([]string{"--kubeconfig", w.stack.Cluster.AdminKubeconfig()}, args...)...)
		out, err := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			if err == nil && strings.Contains(line, reason) && strings.Contains(line, text) {
				return nil
			}
		}
		if ctx.Err() == nil {
			last = out
		}
		select {
		case <-time.After(describeEvery):
		case <-w.ended():
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("not within %s; kubectl %s prints:\n%s", within, strings.Join(args, " "), last)
		}
	}
}

// link matches a link of Markdown.
var link = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)

// followReason returns what the documentation says to do about a reason of an Event, and where: the
// section that the first cell of its row in the reference links to, or else the last.
func followReason(reason string) (section, page string, err error) {
	reference := filepath.Join("..", "..", "docs", "reference", "events.md")
	data, err := os.ReadFile(reference)
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.Contains(cells[0], "`"+reason+"`") {
			continue
		}
		for _, cell := range []string{cells[0], cells[len(cells)-1]} {
			if to := link.FindStringSubmatch(cell); to != nil {
				file := reference
				if to[1] != "" {
					file = filepath.Join(filepath.Dir(reference), to[1])
				}
				section, err := sectionOf(file, strings.TrimPrefix(to[2], "#"))
				return section, to[1] + to[2], err
			}
		}
	}
	return "", "", fmt.Errorf("docs/reference/events.md leads nowhere from %s", reason)
}

// sectionOf returns a section of a page, by its anchor; all of the page without one.
func sectionOf(file, anchor string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil || anchor == "" {
		return string(data), err
	}
	var b strings.Builder
	level := 0
	for line := range strings.Lines(string(data)) {
		marks, heading, isHeading := strings.Cut(strings.TrimSpace(line), " ")
		isHeading = isHeading && marks != "" && strings.Trim(marks, "#") == ""
		switch {
		case isHeading && level > 0 && len(marks) <= level:
			return b.String(), nil
		case isHeading && anchorOf(heading) == anchor:
			level = len(marks)
		case level > 0:
			b.WriteString(line)
		}
	}
	if level == 0 {
		return "", errors.New(file + " has no heading for #" + anchor)
	}
	return b.String(), nil
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

func anchorOf(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
