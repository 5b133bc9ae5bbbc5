package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var eventsPage = filepath.Join("..", "..", "docs", "reference", "events.md")

const (
	examplesBegin = "<!-- examples: written by TestScenarios -->\n| reason | type | an example |\n|---|---|---|\n"
	examplesEnd   = "<!-- end of examples -->"
)

// examples are the Events of all scenarios, and how many of these have each.
type examples struct {
	mu        sync.Mutex
	scenarios int
	seen      map[said]int
}

// add adds the Events of one scenario.
func (x *examples) add(all []said) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.scenarios++
	if x.seen == nil {
		x.seen = map[said]int{}
	}
	once := map[said]bool{}
	for _, e := range all {
		once[said{e.Type, e.Reason, usual(e.Message)}] = true
	}
	for e := range once {
		x.seen[e]++
	}
}

// varying are what differs from one run to the next, and what a user has there.
var varying = []struct {
	what  *regexp.Regexp
	usual string
}{
	{regexp.MustCompile(`127\.0\.0\.\d+:\d+`), "192.0.2.10:443"},
	{regexp.MustCompile(`127\.0\.0\.\d+`), "192.0.2.10"},
	{regexp.MustCompile(`/tmp/\S*/config/`), "/etc/cloud/"},
	{regexp.MustCompile(`/tmp/\S*/ca/`), "/etc/cloud/ca/"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC`), "2028-01-10 08:00:00 UTC"},
	{regexp.MustCompile(` after \d[0-9hms]*$`), " after 4m30s"},
	{regexp.MustCompile(`SHA-256 [0-9A-F]{2}:.*$`), "SHA-256 BA:78:…"},
	{regexp.MustCompile(`vzones@\w+\.local`), "vzones@vsphere.local"},
}

func usual(message string) string {
	for _, d := range varying {
		message = d.what.ReplaceAllString(message, d.usual)
	}
	return message
}

// rare matches what an example should not have, since it differs from run to run or is
// there to test something odd.
var rare = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-|/tmp/|random wait|\d+m?s\b|xxxx|huge|PropertyCollector|is the one in force again`)

// best returns the example of a reason: a Warning if there is one, that most scenarios have, the
// shortest of several.
func (x *examples) best(reason string) said {
	of := slices.DeleteFunc(slices.Collect(maps.Keys(x.seen)), func(e said) bool { return e.Reason != reason })
	if usual := slices.DeleteFunc(slices.Clone(of), func(e said) bool { return strings.Contains(e.Message, "ServerFaultCode") }); len(usual) > 0 {
		of = usual // which call of an outage fails differs from run to run
	}
	return slices.MinFunc(of, func(a, b said) int {
		odd := func(e said) int { return len(rare.FindAllString(e.Message, -1)) }
		return cmp.Or(odd(a)-odd(b), -strings.Compare(a.Type, b.Type), x.seen[b]-x.seen[a], len(a.Message)-len(b.Message), strings.Compare(a.Message, b.Message))
	})
}

// check compares the reference with what the scenarios have told: it has an example of each
// reason, and each is what a scenario has told.
func (x *examples) check(t *testing.T) {
	data, err := os.ReadFile(eventsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), examplesBegin)
	table, after, closed := strings.Cut(rest, examplesEnd)
	if !ok || !closed {
		t.Fatalf("%s has no %s … %s", eventsPage, examplesBegin, examplesEnd)
	}
	reasons := map[string]bool{}
	for e := range x.seen {
		reasons[e.Reason] = true
	}
	if *update {
		var b strings.Builder
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			e := x.best(reason)
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", e.Reason, e.Type, strings.ReplaceAll(e.Message, "|", `\|`))
		}
		if err := os.WriteFile(eventsPage, []byte(before+examplesBegin+b.String()+examplesEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for line := range strings.Lines(table) {
		cells := strings.SplitN(strings.Trim(strings.TrimSpace(line), "| "), " | ", 3)
		if len(cells) != 3 {
			t.Errorf("%s: %q is not a row of the examples", eventsPage, line)
			continue
		}
		e := said{cells[1], strings.Trim(cells[0], "`"), strings.ReplaceAll(cells[2], `\|`, "|")}
		if x.seen[e] == 0 {
			t.Errorf("%s: no scenario has told the example %+v; go test ./test/scenarios -run TestScenarios -update writes them", eventsPage, e)
		}
		delete(reasons, e.Reason)
	}
	for reason := range reasons {
		t.Errorf("%s has no example of %s: %s", eventsPage, reason, x.best(reason).Message)
	}
}
