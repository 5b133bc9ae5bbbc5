package stack

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// raceOptions makes a daemon end with its own status although the race detector has reported
// something, which Races returns.
func raceOptions() string { return "GORACE=" + strings.TrimSpace(os.Getenv("GORACE")+" exitcode=0") }

var (
	framed = regexp.MustCompile(`(?s)==================\nWARNING: DATA RACE\n.*?\n==================\n`)
	report = regexp.MustCompile(`(?s)WARNING: DATA RACE\n(.*?)\n==================`)
	// access is one of the two in a report, with its stack.
	access = regexp.MustCompile(`(?m)^(?:Read|Write|Previous read|Previous write|Atomic read|Atomic write|Previous atomic read|Previous atomic write) at .*:\n((?:  .*\n?)+)`)
)

// known are the races of libraries, each by what both of its stacks have.
var known = []func(stack string) bool{
	// The framework's server goes on preparing its TLS configuration while the
	// controller of its certificates, which is running by then, copies it.
	func(stack string) bool {
		frame := func(name string) bool { return strings.Contains(stack, "  k8s.io/apiserver/pkg/server"+name) }
		return frame(".(*SecureServingInfo).Serve()") || strings.HasPrefix(stack, "  crypto/tls.(*Config).Clone()") &&
			frame("/dynamiccertificates.(*DynamicServingCertificateController).syncCerts()")
	},
}

// LogWithoutRaces returns the daemon's log without the reports of the race detector, which writes
// them itself.
func (d *Daemon) LogWithoutRaces() string { return framed.ReplaceAllString(d.Log(), "") }

// Races returns the reports of the race detector in a daemon's log, without those of
// races in libraries that are known.
func (d *Daemon) Races() []string { return races(d.Log()) }

func races(log string) []string {
	var found []string
	if strings.Count(log, "WARNING: DATA RACE") != len(report.FindAllString(log, -1)) {
		found = append(found, "a report of the race detector that is cut off")
	}
	for _, r := range report.FindAllStringSubmatch(log, -1) {
		all := access.FindAllStringSubmatch(r[1]+"\n", -1)
		theirs := func(is func(string) bool) bool {
			return !slices.ContainsFunc(all, func(a []string) bool { return !is(a[1]) })
		}
		if len(all) != 2 || !slices.ContainsFunc(known, theirs) {
			found = append(found, r[1])
		}
	}
	return found
}
