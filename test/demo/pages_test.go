package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vzones/test/cluster"
	"vzones/test/page"
	"vzones/test/stack"
)

const tutorialPage = "docs/tutorial/first-cluster.md"

// ofRuns are what differs from run to run of the demo: times, ports, how many lines say that Nodes
// were initialized, and a little the number of requests, which tags that are read again raise.
var ofRuns = []page.Difference{
	{Pattern: regexp.MustCompile(`\[ *\d+\.\d s\]`), Instead: "[TIME]"},
	{Pattern: regexp.MustCompile(`(127\.0\.0\.\d):\d+`), Instead: "$1:PORT"},
	{Pattern: regexp.MustCompile(`(?m)(^ +\d+\.\d\d s after the daemon's start: +\d+ of 24 Nodes initialized\n)*^ +\d+\.\d\d s after the daemon's start: 24 of 24 Nodes initialized$`),
		Instead: "24 of 24 Nodes initialized, after others"},
	{Pattern: regexp.MustCompile(`was asked [1-4]\d times`), Instead: "was asked N times"},
	{Pattern: regexp.MustCompile(`SIGTERM to exit in [\d.]+m?s`), Instead: "SIGTERM to exit in TIME"},
}

// TestDemoIsShown: the README and the first part of the tutorial show what the demo prints.
func TestDemoIsShown(t *testing.T) {
	t.Parallel()
	binary := daemonBinary(t)
	if err := cluster.Wanted(cluster.Scheduler); err != nil {
		t.Skip(err)
	}
	out := new(bytes.Buffer)
	d := &demo{out: out, began: time.Now()}
	if err := d.play(t.Context(), binary); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
	for _, b := range page.Outputs(t, "README.md", "What the demo shows") {
		page.Shows(t, "README.md", "…\n"+b, out.String(), ofRuns...)
	}
	parts := page.Outputs(t, tutorialPage, "1. Run the demo")
	if len(parts) != 4 {
		t.Errorf("%s has %d parts of what the demo prints", tutorialPage, len(parts))
	}
	for _, b := range parts {
		page.Excerpt(t, tutorialPage, b, out.String(), ofRuns...)
	}
}

// looksAround compares what the second part of the tutorial shows with what the demo has printed,
// and with the daemon's log.
func looksAround(t *testing.T, printed string, daemon *stack.Daemon) {
	t.Helper()
	shown := page.Outputs(t, tutorialPage, "2. Keep it and look around")
	if len(shown) != 2 {
		t.Fatalf("%s shows %q, want what is printed and a line of the log", tutorialPage, shown)
	}
	numbers := page.Difference{Pattern: regexp.MustCompile(`\d+`), Instead: "0"}
	temporary := filepath.Dir(filepath.Dir(daemon.LogPath()))
	page.Shows(t, tutorialPage, shown[0], strings.ReplaceAll(printed, temporary, "/tmp"), ofRuns[0], numbers)

	line := regexp.MustCompile(`(?m)^(grep '[^']*') /tmp/\S*/daemon-0\.log$`).FindStringSubmatch(page.Read(t, tutorialPage))
	if line == nil {
		t.Fatalf("%s does not search the log", tutorialPage)
	}
	found, err := exec.CommandContext(t.Context(), "sh", "-c", line[1]+" "+daemon.LogPath()).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line[1], err, found)
	}
	at := page.Difference{Pattern: regexp.MustCompile(`(?m)^I\d{4} \d\d:\d\d:\d\d\.\d{6}`), Instead: "TIME"}
	page.Excerpt(t, tutorialPage, shown[1], string(found), at) // it may be placed twice
}
