package operator

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"vzones/test/page"
)

// A block is one of a page that has lines which somebody enters, and what each prints.
type block struct {
	page.Block
	commands []entered
}

// entered is a command with what the page shows of it.
type entered struct {
	lines []string // as the page has them, with $ or >
	shown []string
}

const (
	prompt = "$ "
	// further begins the further lines of a command.
	further = "> "
	// ellipsis is a line in the place of any lines.
	ellipsis = "…"
)

// blocks returns the blocks of kind console below a heading of a page, up to the next heading.
func blocks(text, heading string) ([]block, error) {
	var all []block
	for _, fenced := range page.Blocks(text) {
		if fenced.Heading != heading || fenced.Kind != "console" {
			continue
		}
		b := block{Block: fenced}
		if err := b.read(); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no block of kind console below %q", heading)
	}
	return all, nil
}

func (b *block) read() error {
	number := b.From
	for line := range strings.Lines(b.Text) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), b.Indent)
		number++
		n := len(b.commands)
		switch {
		case strings.HasPrefix(line, prompt):
			b.commands = append(b.commands, entered{lines: []string{line}})
		case n == 0:
			return fmt.Errorf("line %d: a block of kind console begins with %q", number, prompt)
		case strings.HasPrefix(line, further) && len(b.commands[n-1].shown) == 0:
			b.commands[n-1].lines = append(b.commands[n-1].lines, line)
		default:
			b.commands[n-1].shown = append(b.commands[n-1].shown, line)
		}
	}
	if len(b.commands) == 0 {
		return fmt.Errorf("line %d: a block of kind console has no command", b.From)
	}
	return nil
}

// text is what a shell gets of a command.
func (c *entered) text() string {
	var b strings.Builder
	for _, line := range c.lines {
		b.WriteString(line[len(prompt):] + "\n")
	}
	return b.String()
}

// mark is printed after each command, with its status.
const mark = "\x1e"

// run enters the commands of a block in one shell, and returns what each printed and its status.
func (b *block) run(ts *testscript.TestScript, tools string) (printed []string, statuses []int) {
	script := "exec 2>&1\nPATH=" + tools + ":$PATH\n"
	for i := range b.commands {
		script += b.commands[i].text() + "status=$?; printf '" + mark + "%d" + mark + "' $status; (exit $status)\n"
	}
	_ = ts.Exec("sh", "-c", script) // the status of each command was printed
	parts := strings.Split(ts.ReadFile("stdout"), mark)
	if len(parts) != 2*len(b.commands)+1 {
		ts.Fatalf("the shell has not run all of\n%s\n%s", script, ts.ReadFile("stdout"))
	}
	for i := range b.commands {
		status, err := strconv.Atoi(parts[2*i+1])
		ts.Check(err)
		printed, statuses = append(printed, parts[2*i]), append(statuses, status)
	}
	return printed, statuses
}

// differences are what differs from run to run, each with what pages have in its place.
var differences = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// In a table that port has blanks behind it for the other one's digits.
	{regexp.MustCompile(`(127\.0\.0\.\d+):\d{5}(   +\S)`), "${1}:443  ${2}"},
	{regexp.MustCompile(`(127\.0\.0\.\d+):\d{4,5}\b`), "${1}:443"},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-11-23T12:00:00Z"},
	{regexp.MustCompile(`\b([0-9A-F]{2}:){19,}[0-9A-F]{2}\b`), "A0:B1:…:F9"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h) ago\b`), "5s ago"},
	// How long ago an Event was, which kubectl prints below LAST SEEN.
	{regexp.MustCompile(`(?m)^(\d+[smh])+ +(Normal|Warning) `), "5s          ${2} "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// normal returns an output with what differs from run to run replaced.
func normal(output, work string) []string {
	output = strings.ReplaceAll(output, work+"/", "")
	for _, d := range differences {
		output = d.pattern.ReplaceAllString(output, d.instead)
	}
	if output = strings.TrimSuffix(output, "\n"); output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// matches reports whether lines are those that a page shows.
func matches(shown, lines []string) bool {
	if len(shown) == 0 {
		return len(lines) == 0
	}
	if shown[0] == ellipsis {
		return matches(shown[1:], lines) || len(lines) > 0 && matches(shown, lines[1:])
	}
	return len(lines) > 0 && shown[0] == lines[0] && matches(shown[1:], lines[1:])
}

// accepted reports whether a status may be that of the i-th command of a block: findings are no
// failure, and another one is what a page is about that asks for it.
func (b *block) accepted(i, status int) bool {
	asked := i+1 < len(b.commands) && b.commands[i+1].text() == "echo $?\n"
	return status == 0 || asked || status == 1 && strings.Contains(b.commands[i].text(), "vzones ")
}

// console enters the commands of blocks of a page and compares what they print with what it shows.
func console(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: console PAGE HEADING")
	}
	t := of(ts).tool
	path := filepath.Join(t.Root, args[0])
	tools, err := filepath.Abs(filepath.Join(t.Root, "bin", "tools"))
	ts.Check(err)
	all, err := blocks(readPage(ts, path), args[1])
	if err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	for i := range all {
		b := &all[i]
		printed, statuses := b.run(ts, tools)
		var now []string
		for j := range b.commands {
			c, lines := &b.commands[j], normal(printed[j], ts.MkAbs("."))
			if !b.accepted(j, statuses[j]) {
				ts.Fatalf("%s: %sends with status %d:\n%s", args[0], c.text(), statuses[j], printed[j])
			}
			now = append(now, c.lines...)
			switch {
			case matches(c.shown, lines):
				now = append(now, c.shown...)
			case t.Update:
				now = append(now, lines...)
			default:
				ts.Fatalf("%s: %sprints\n%s\nthe page shows\n%s\nIf it is right: -update", args[0], c.text(), strings.Join(lines, "\n"), strings.Join(c.shown, "\n"))
			}
		}
		if t.Update {
			t.rewrite(ts, path, args[1], i, now)
		}
	}
}

func readPage(ts *testscript.TestScript, path string) string {
	content, err := os.ReadFile(path)
	ts.Check(err)
	return string(content)
}

// rewrite writes the i-th block below a heading of a page.
func (t *Scripts) rewrite(ts *testscript.TestScript, path, heading string, i int, lines []string) {
	t.writing.Lock()
	defer t.writing.Unlock()
	text := readPage(ts, path) // other scripts may have written it
	all, err := blocks(text, heading)
	ts.Check(err)
	b := all[i]
	var indented []string
	for _, line := range lines {
		indented = append(indented, strings.TrimRight(b.Indent+line, " "))
	}
	now := strings.Split(text, "\n")
	now = slices.Concat(now[:b.From], indented, now[b.To:])
	ts.Check(os.WriteFile(path, []byte(strings.Join(now, "\n")), 0o644))
}

// commands enters the lines of the shell blocks of a page that begin with the tool. Findings are no
// failure.
func commands(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: commands PAGE")
	}
	count := 0
	for _, b := range page.Blocks(readPage(ts, filepath.Join(of(ts).tool.Root, args[0]))) {
		for line := range strings.Lines(b.Text) {
			line = strings.TrimSpace(line)
			if b.Kind != "sh" || !strings.HasPrefix(line, "vzones ") {
				continue
			}
			count++
			if err := ts.Exec("sh", "-c", line+"; test $? -le 1"); err != nil {
				ts.Fatalf("%s: %s: %v\n%s", args[0], line, err, ts.ReadFile("stderr"))
			}
		}
	}
	if count == 0 {
		ts.Fatalf("%s has no command of the tool", args[0])
	}
}
