package stack

import (
	"os"
	"regexp"
	"strings"
)

// raceOptions let a daemon end with its own status though the race detector has
// told of something: Races says of what.
func raceOptions() string { return "GORACE=" + strings.TrimSpace(os.Getenv("GORACE")+" exitcode=0") }

var (
	report = regexp.MustCompile(`(?s)WARNING: DATA RACE\n(.*?)\n==================`)
	access = regexp.MustCompile(`(?m)^(?:Read|Write|Previous read|Previous write|Atomic read|Atomic write|Previous atomic read|Previous atomic write) at .*:\n  (.*)$`)
)

// known is where client-go writes to a variable that it reads meanwhile: it notes at
// -v=9 and above how long the steps of a request took, and a connection that comes
// too late for its request is noted too.
const known = "k8s.io/client-go/transport.(*debuggingRoundTripper).RoundTrip"

// Races returns the reports of the race detector in a daemon's log, without those of
// client-go's own about what it logs.
func (d *Daemon) Races() []string { return races(d.Log()) }

func races(log string) []string {
	var found []string
	if strings.Count(log, "WARNING: DATA RACE") != len(report.FindAllString(log, -1)) {
		found = append(found, "a report of the race detector that is cut off")
	}
	for _, r := range report.FindAllStringSubmatch(log, -1) {
		theirs := 0
		all := access.FindAllStringSubmatch(r[1], -1)
		for _, a := range all {
			if strings.HasPrefix(a[1], known) {
				theirs++
			}
		}
		if len(all) != 2 || theirs != 2 {
			found = append(found, r[1])
		}
	}
	return found
}
