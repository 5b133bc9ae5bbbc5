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

// Alerts depend on these reasons of Events on the daemon's own Pod.
const (
	reasonConfigApplied  = "ConfigurationApplied"
	reasonConfigRejected = "ConfigurationRejected"
)

// A reloader applies changes of the configuration. A configuration with an error is rejected as a
// whole, and the current configuration stays in force. Only one goroutine calls reload.
type reloader struct {
	read  func(context.Context) (*config.Config, error)
	apply func(*config.Config)
	// watchFiles also watches files in which a rejected configuration may be corrected.
	watchFiles func(current *config.Config, files []string)
	record     func(eventType, reason, message string)
	counts     reloadCounts

	// current is the configuration in force. It is immutable.
	current   *config.Config
	rejection report.Tracker
}

// reloadCounts is implemented by metrics.Reloads.
type reloadCounts interface {
	Applied()
	Rejected()
}

func (r *reloader) reload(ctx context.Context) {
	next, err := r.read(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.reject(ctx, err)
		return
	}
	if changes := config.Diff(r.current, next); changes != "" {
		r.applyChange(ctx, next, changes)
	} else {
		r.endRejection(ctx)
	}
}

func (r *reloader) reject(ctx context.Context, err error) {
	problem := report.Problem{Key: err.Error()}
	now := time.Now()
	if r.rejection.Observe(problem, 0, report.RepeatInterval(reasonConfigRejected), now).After(now) {
		return
	}
	if last, _ := r.rejection.LastRecorded(); last.Key != problem.Key {
		r.counts.Rejected()
	}
	r.rejection.Recorded(problem, now)
	lines := []string{err.Error()}
	var configErrs config.Errors
	if errors.As(err, &configErrs) {
		lines = nil
		var files []string
		for _, m := range configErrs {
			lines = append(lines, m.Error())
			if m.Path != "" {
				files = append(files, m.Path)
			}
		}
		r.watchFiles(r.current, files)
	}
	for _, line := range lines {
		klog.FromContext(ctx).Error(nil, "The changed configuration is rejected; the previous one stays in force", "error", line)
	}
	r.record(v1.EventTypeWarning, reasonConfigRejected, quote.NoteWith(quote.Reasons(lines, quote.Most),
		"correct the configuration: until then the previous one stays in force"))
}

// endRejection reports that the files have the current configuration again.
func (r *reloader) endRejection(ctx context.Context) {
	if !r.rejection.End() {
		return
	}
	r.rejection = report.Tracker{}
	r.counts.Applied()
	klog.FromContext(ctx).Info("The rejected change of the configuration was reverted")
	r.record(v1.EventTypeNormal, reasonConfigApplied, "The rejected change of the configuration was reverted.")
}

// applyChange applies even a change that affects no Node, since its files have to be watched.
func (r *reloader) applyChange(ctx context.Context, next *config.Config, changes string) {
	previous := r.current
	r.current = next
	r.rejection = report.Tracker{}
	r.apply(next)
	r.counts.Applied()
	klog.FromContext(ctx).Info("Applied the changed configuration", "changes", changes)
	logWarnings(ctx, previous.Warnings, next.Warnings)
	r.record(v1.EventTypeNormal, reasonConfigApplied, quote.Note("applied the changed configuration: "+changes))
}

// logWarnings logs new warnings. A warning that has moved to another line is not new.
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
