package operator

import (
	"slices"
	"strings"
	"testing"
)

const aPage = "# Page\n\n```console\n$ no\n```\n\n## One\n\n- in a list:\n\n  ```console\n  $ a <<X\n  > b\n  > X\n  1\n\n  2\n  $ echo $?\n  ```\n\n```text\n$ c\n```\n\n## Two\n\n```console\n$ d\n```\n"

// TestBlocks: a heading has its own blocks of kind console, with the lines that each command prints.
func TestBlocks(t *testing.T) {
	got, err := blocks(aPage, "One")
	if err != nil || len(got) != 1 || len(got[0].commands) != 2 || got[0].Indent != "  " {
		t.Fatalf("%+v, %v", got, err)
	}
	b := got[0]
	if text := b.commands[0].text(); text != "a <<X\nb\nX\n" || !slices.Equal(b.commands[0].shown, []string{"1", "", "2"}) {
		t.Errorf("%q shows %q", text, b.commands[0].shown)
	}
	if !b.accepted(0, 2) || b.accepted(1, 1) {
		t.Error("a status is a failure unless echo $? asks for it")
	}
	for text, heading := range map[string]string{aPage: "Three", "## A\n```console\nx\n```\n": "A", "## B\n```console\n```\n": "B"} {
		if got, err := blocks(text, heading); err == nil {
			t.Errorf("%s: %+v", heading, got)
		}
	}
}

// TestMatches: an ellipsis is any lines, and anything else is itself.
func TestMatches(t *testing.T) {
	lines := []string{"a", "b", "c"}
	for shown, want := range map[string]bool{"a b c": true, "a … c": true, "…": true, "a b c …": true, "a c": false, "a … b": false, "a b c d": false, "": false} {
		if got := matches(strings.Fields(shown), lines); got != want {
			t.Errorf("%q: %v", shown, got)
		}
	}
}

// TestNormal: what differs from run to run does not, and columns stay where they are.
func TestNormal(t *testing.T) {
	got := normal("X              AGE\n127.0.0.2:40001   3s ago\n/work/a.yaml 2020-01-02T03:04:05Z\nReading the vCenters …\n127.0.0.2:4000\n", "/work")
	want := []string{"X              AGE", "127.0.0.2:443     5s ago", "a.yaml 2026-11-23T12:00:00Z", "Reading the vCenters …", "127.0.0.2:443"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
