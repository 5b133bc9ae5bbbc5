// Package reload applies changes of the configuration. A configuration with a mistake is
// refused whole, and the running one stays in force. It never reads files or Secrets itself.
package reload

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/report"
)

// Reasons of the Events on the daemon's own Pod. Alerts use them: they must not change.
const (
	reasonApplied = "ConfigurationApplied"
	reasonRefused = "ConfigurationRefused"
)

// A Reloader keeps the running configuration that of its source. One goroutine calls its
// methods, and nobody else changes current.
type Reloader struct {
	Options
	// current is in force. It is never changed, only replaced.
	current *config.Config
	// refused tracks the error of the source. It tracks nothing if what the source holds is in force.
	refused report.Tracker
}

// Options are what a Reloader works with. All are needed.
type Options struct {
	// Read reads the configuration as it is now, and Apply puts one in force.
	Read  func(context.Context) (*config.Config, error)
	Apply func(*config.Config)
	// WatchFiles watches files besides those of the running configuration: the mistakes of a
	// refused one are about them, and may be corrected there.
	WatchFiles func(current *config.Config, files []string)
	// Record records an Event on the daemon's Pod.
	Record func(eventType, reason, message string)
	// Counts counts what becomes of changed configurations.
	Counts interface {
		Applied()
		Refused()
	}
}

// New returns a Reloader of a running configuration.
func New(current *config.Config, options Options) *Reloader {
	return &Reloader{Options: options, current: current}
}

// Reload reads the source and applies what has changed. If the source cannot be read or has mistakes, the
// running configuration stays, and the first call and one about each hour log and record the mistakes.
func (r *Reloader) Reload(ctx context.Context) {
	now, err := r.Read(ctx)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		r.refuse(ctx, err)
		return
	}
	if changes := config.Diff(r.current, now); changes != "" {
		r.applyChange(ctx, now, changes)
	} else {
		r.revert(ctx)
	}
}

// refuse logs and records why a changed configuration is not put in force.
func (r *Reloader) refuse(ctx context.Context, err error) {
	p, now := report.Problem{Key: err.Error()}, time.Now()
	if r.refused.Observe(p, 0, report.RepeatAfter(reasonRefused), now).After(now) {
		return
	}
	if last, _ := r.refused.Said(); last.Key != p.Key {
		r.Counts.Refused()
	}
	r.refused.Recorded(p, now)
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
		r.WatchFiles(r.current, files)
	}
	for _, line := range lines {
		klog.FromContext(ctx).Error(nil, "The changed configuration is refused; the previous one stays in force", "mistake", line)
	}
	r.Record(v1.EventTypeWarning, reasonRefused, quote.NoteWith(quote.Reasons(lines, quote.Most),
		"correct that: the previous configuration stays in force until then"))
}

// revert notes that a refused change was taken back, so that the source holds what is in force.
func (r *Reloader) revert(ctx context.Context) {
	if !r.refused.End() {
		return
	}
	r.refused = report.Tracker{}
	r.Counts.Applied()
	klog.FromContext(ctx).Info("The configuration is the one in force again")
	r.Record(v1.EventTypeNormal, reasonApplied, "The configuration is the one in force again.")
}

// applyChange puts a changed configuration in force. Also what is only written elsewhere: it
// is shown, and the files that it depends on are watched.
func (r *Reloader) applyChange(ctx context.Context, now *config.Config, changes string) {
	before := r.current
	r.current, r.refused = now, report.Tracker{}
	r.Apply(now)
	r.Counts.Applied()
	klog.FromContext(ctx).Info("Applied the changed configuration", "changes", changes)
	LogWarnings(ctx, before.Warnings, now)
	r.Record(v1.EventTypeNormal, reasonApplied, quote.Note("applied the changed configuration: "+changes))
}

// LogWarnings logs the warnings of a configuration that were not there before.
func LogWarnings(ctx context.Context, before []config.Warning, now *config.Config) {
	logged := map[string]bool{}
	for _, w := range before {
		logged[w.Field+w.Message] = true
	}
	for _, w := range now.Warnings {
		if !logged[w.Field+w.Message] {
			log := klog.FromContext(ctx)
			if w.VCenter != "" {
				log = log.WithValues("vCenter", w.VCenter)
			}
			log.Info("The configuration is in force with a warning", "warning", w.Error())
		}
	}
}
