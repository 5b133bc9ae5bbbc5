package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/internal/preflight"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/topology/quote"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

const (
	// endsSoon is as in the alert VzonesCertificateExpiresSoon.
	endsSoon = 14 * 24 * time.Hour
	// mostSkew is how far clocks may be apart.
	mostSkew = time.Minute
)

// reach finds what is wrong on the way to a vCenter, and with its account. It reports whether the
// vCenter was read.
func (f *facts) reach(i int) (found []finding.Finding, read bool) {
	cfg, state, report := &f.config.VCenters[i], &f.states[i], &f.reports[i]
	note := func(kind *finding.Kind, text, command string) {
		found = append(found, finding.Finding{Kind: kind, VCenter: cfg.Name, Object: the(cfg.Name), Text: text, Command: command})
	}
	if state.Err != nil { // without one there is a snapshot
		kind, text := f.whyUnread(i)
		command := ""
		if kind == finding.CertificateUntrusted {
			command = line("govc", "about.cert", "-k", "-u", report.Host)
		}
		note(kind, text, command)
		return found, false
	}
	if ends := f.health[i].CertificateEnds; !ends.IsZero() && ends.Before(f.now.Add(endsSoon)) {
		note(finding.CertificateEnds, fmt.Sprintf("it is trusted until %s: %s", day(ends), offered(report.Certificate)), line("govc", "about.cert", "-k", "-u", report.Host))
	}
	return found, true
}

// whyUnread returns why a vCenter was not read.
func (f *facts) whyUnread(i int) (*finding.Kind, string) {
	state, report := &f.states[i], &f.reports[i]
	text := plain(state.VCenter, state.Err)
	switch faults.CauseOf(state.Err) {
	case faults.CauseCredentials:
		return finding.CredentialsMissing, text
	case faults.CauseRejected, faults.CausePostponed:
		return finding.CredentialsRejected, text
	case faults.CauseUntrusted:
		if report.Certificate != nil {
			text += "; it is for " + names(report.Certificate)
		}
		return finding.CertificateUntrusted, text
	case faults.CauseDenied:
		return finding.InventoryDenied, text
	case faults.CauseFault, faults.CauseInternal:
		return finding.AnswersWrong, text
	}
	if report.Failed != preflight.Done {
		return stepKind(report.Failed), strings.TrimSpace(report.Err.Error() + through(report))
	}
	switch {
	case errors.As(state.Err, new(*world.LateError)), errors.Is(state.Cause, inventory.ErrPending):
		return finding.NotRead, "it answers, and was not read completely in the time of --timeout"
	case errors.As(state.Err, new(*vcenter.SlowLoginError)), errors.Is(state.Err, context.DeadlineExceeded):
		return finding.NotRead, text
	}
	return finding.AnswersWrong, text
}

// stepKind returns the kind of a step that has failed.
func stepKind(s preflight.Step) *finding.Kind {
	switch s {
	case preflight.Resolve:
		return finding.NameUnresolved
	case preflight.Proxy:
		return finding.ProxyFails
	case preflight.Connect:
		return finding.NotConnected
	case preflight.TLS:
		return finding.TLSFails
	case preflight.Trust:
		return finding.CertificateUntrusted
	}
	return finding.AnswersWrong
}

// about finds what is wrong with what a vCenter says of itself.
func (f *facts) about(i int) (found []finding.Finding) {
	cfg, report, s := &f.config.VCenters[i], &f.reports[i], f.survey(f.states[i].VCenter)
	note := func(kind *finding.Kind, text string) {
		found = append(found, finding.Finding{Kind: kind, VCenter: cfg.Name, Object: the(cfg.Name), Text: text})
	}
	version := report.APIVersion
	if s != nil {
		if s.About.APIVersion != "" {
			version = s.About.APIVersion
		}
		if skew := s.Skew.Round(time.Second); s.SkewErr == nil && (skew > mostSkew || skew < -mostSkew) {
			where := "ahead of"
			if skew < 0 {
				skew, where = -skew, "behind"
			}
			note(finding.ClockSkew, fmt.Sprintf("its clock is %v %s that of this machine", skew, where))
		}
	}
	if major, ok := majorOf(version); ok && major < oldestMajor {
		note(finding.VersionOld, "its API has version "+quote.Plain(version))
	}
	return found
}

// oldestMajor is the oldest version of vCenter that vzones is intended for, see
// docs/reference/compatibility.md.
const oldestMajor = 7

// majorOf returns the first number of a version.
func majorOf(version string) (int, bool) {
	var major int
	_, err := fmt.Sscanf(version, "%d.", &major)
	return major, err == nil
}

// warnings finds the warnings of the configuration. Those about the CSI driver are found as NotSeenByCSI:
// where the driver does not run, such a configuration is as good as any.
func (f *facts) warnings() (found []finding.Finding) {
	for i := range f.config.Warnings {
		w := &f.config.Warnings[i]
		if w.About == config.AboutCSI {
			continue
		}
		at := w.Field
		if w.Line > 0 {
			at = fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Field)
		}
		if w.Field == "" {
			at = strings.TrimSuffix(at, ": ")
		}
		found = append(found, finding.Finding{Kind: finding.ConfigurationWarning, VCenter: w.VCenter, Object: quote.Text(at), Text: quote.Text(w.Message)})
	}
	return found
}
