package stack

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// raceOptions keeps the race detector from changing a daemon's exit status. Races returns its reports.
func raceOptions() string { return "GORACE=" + strings.TrimSpace(os.Getenv("GORACE")+" exitcode=0") }

var (
	framed = regexp.MustCompile(`(?s)==================\nWARNING: DATA RACE\n.*?\n==================\n`)
	report = regexp.MustCompile(`(?s)WARNING: DATA RACE\n(.*?)\n==================`)
	// access matches one of the two accesses in a report, with its stack.
	access = regexp.MustCompile(`(?m)^(?:Read|Write|Previous read|Previous write|Atomic read|Atomic write|Previous atomic read|Previous atomic write) at .*:\n((?:  .*\n?)+)`)
)

// knownRaces matches both stacks of known races in libraries.
var knownRaces = []func(stack string) bool{
	// The framework's server continues to prepare its TLS configuration while its running
	// certificate controller copies it.
	func(stack string) bool {
		frame := func(name string) bool { return strings.Contains(stack, "  k8s.io/apiserver/pkg/server"+name) }
		return frame(".(*SecureServingInfo).Serve()") || strings.HasPrefix(stack, "  crypto/tls.(*Config).Clone()") &&
			frame("/dynamiccertificates.(*DynamicServingCertificateController).syncCerts()")
	},
}

// LogWithoutRaces returns the daemon's log without the reports that the race detector writes to it.
func (d *Daemon) LogWithoutRaces() string { return framed.ReplaceAllString(d.Log(), "") }

// Races returns the race detector's reports in a daemon's log, without known races in libraries.
func (d *Daemon) Races() []string { return races(d.Log()) }

func races(log string) []string {
	var found []string
	if strings.Count(log, "WARNING: DATA RACE") != len(report.FindAllString(log, -1)) {
		found = append(found, "a truncated report of the race detector")
	}
	for _, r := range report.FindAllStringSubmatch(log, -1) {
		accesses := access.FindAllStringSubmatch(r[1]+"\n", -1)
		theirs := func(is func(string) bool) bool {
			return !slices.ContainsFunc(accesses, func(a []string) bool { return !is(a[1]) })
		}
		if len(accesses) != 2 || !slices.ContainsFunc(knownRaces, theirs) {
			found = append(found, r[1])
		}
	}
	return found
}
