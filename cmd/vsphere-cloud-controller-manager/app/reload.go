package app

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/report"
)

// Reasons of the Events on the daemon's own Pod. Alerts use them: they must not change.
const (
	reasonConfigApplied = "ConfigurationApplied"
	reasonConfigRefused = "ConfigurationRejected"
)

// A reloader puts changes of the configuration in force. A configuration with an error is rejected as
// a whole, and the current one stays in force. One goroutine calls reload, and nothing else changes
// current.
type reloader struct {
	// read reads the configuration from its source.
	read func(context.Context) (*config.Config, error)
	// apply puts a configuration in force.
	apply func(*config.Config)
	// watchFiles watches files besides the files of the current configuration: a rejected configuration may
	// be corrected in them.
	watchFiles func(current *config.Config, files []string)
	// record records an Event on the daemon's Pod.
	record func(eventType, reason, message string)
	// counts counts the changes by their outcome.
	counts reloadCounts

	// current is in force. It is never changed, only replaced.
	current *config.Config
	// refused tracks the error of the source, and nothing while the source contains current.
	refused report.Tracker
}

// reloadCounts counts changes of the configuration. metrics.Reloads implements it.
type reloadCounts interface {
	Applied()
	Refused()
}

// reload reads the source and applies its changes. If the source cannot be read or has errors, the
// current configuration stays in force, and the first call and about one an hour log and record the
// errors.
func (r *reloader) reload(ctx context.Context) {
	next, err := r.read(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.refuse(ctx, err)
		return
	}
	if changes := config.Diff(r.current, next); changes != "" {
		r.applyChange(ctx, next, changes)
	} else {
		r.revert(ctx)
	}
}

// refuse logs and records the errors of a rejected configuration.
func (r *reloader) refuse(ctx context.Context, err error) {
	problem := report.Problem{Key: err.Error()}
	now := time.Now()
	if r.refused.Observe(problem, 0, report.RepeatAfter(reasonConfigRefused), now).After(now) {
		return
	}
	if last, _ := r.refused.Said(); last.Key != problem.Key {
		r.counts.Refused()
	}
	r.refused.Recorded(problem, now)
	lines := []string{err.Error()}
	var mistakes config.Errors
	if errors.As(err, &mistakes) {
		lines = nil
		var files []string
		for _, m := range mistakes {
			lines = append(lines, m.Error())
			if m.Path != "" {
				files = append(files, m.Path)
			}
		}
		r.watchFiles(r.current, files)
	}
	for _, line := range lines {
		klog.FromContext(ctx).Error(nil, "The changed configuration is refused; the previous one stays in force", "mistake", line)
	}
	r.record(v1.EventTypeWarning, reasonConfigRefused, quote.NoteWith(quote.Reasons(lines, quote.Most),
		"correct that: the previous configuration stays in force until then"))
}

// revert ends a rejection whose change was taken back: the source contains the current configuration.
func (r *reloader) revert(ctx context.Context) {
	if !r.refused.End() {
		return
	}
	r.refused = report.Tracker{}
	r.counts.Applied()
	klog.FromContext(ctx).Info("The configuration is the one in force again")
	r.record(v1.EventTypeNormal, reasonConfigApplied, "The configuration is the one in force again.")
}

// applyChange puts a changed configuration in force, also if the change has no effect on Nodes: its files are
// watched from then on.
func (r *reloader) applyChange(ctx context.Context, next *config.Config, changes string) {
	previous := r.current
	r.current = next
	r.refused = report.Tracker{}
	r.apply(next)
	r.counts.Applied()
	klog.FromContext(ctx).Info("Applied the changed configuration", "changes", changes)
	logWarnings(ctx, previous.Warnings, next.Warnings)
	r.record(v1.EventTypeNormal, reasonConfigApplied, quote.Note("applied the changed configuration: "+changes))
}

// logWarnings logs the warnings that the previous configuration did not have. A warning that has moved
// to another line is not new.
func logWarnings(ctx context.Context, previous, current []config.Warning) {
	for _, w := range current {
		isKnown := slices.ContainsFunc(previous, func(p config.Warning) bool {
			return p.Field == w.Field && p.Message == w.Message
		})
		if isKnown {
			continue
		}
		log := klog.FromContext(ctx)
		if w.VCenter != "" {
			log = log.WithValues("vCenter", w.VCenter)
		}
		log.Info("The configuration is in force with a warning", "warning", w.Error())
	}
}
