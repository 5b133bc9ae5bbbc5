package main

import (
	"context"
	"errors"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"vzones/config"
)

// reloader keeps the running configuration that of its source. One goroutine runs
// it, and nobody else changes current.
type reloader struct {
	// read reads the configuration as it is now, apply puts it in force, and
	// repair is told of files that may mend what is wrong with it.
	read   func(context.Context) (*config.Config, error)
	apply  func(*config.Config)
	repair func(files []string)
	// current is in force. It is never changed, only replaced.
	current *config.Config
	// refused is what was last told to be wrong with the source, empty if that is
	// what is in force.
	refused string

	pod    *pod
	counts *reloads
}

// look reads the source and applies what has changed. What cannot be read, or has
// mistakes, is told of once, and the running configuration stays.
func (r *reloader) look(ctx context.Context) {
	now, err := r.read(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		r.refuse(ctx, err)
	case reflect.DeepEqual(now, r.current):
		r.returned(ctx)
	default:
		r.accept(ctx, now)
	}
}

func (r *reloader) refuse(ctx context.Context, err error) {
	if err.Error() == r.refused {
		return
	}
	r.refused = err.Error()
	r.counts.refused()
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
		r.repair(files)
	}
	for _, line := range lines {
		klog.FromContext(ctx).Error(nil, "The changed configuration is refused; the one before stays in force", "mistake", line)
	}
	r.pod.tell(v1.EventTypeWarning, reasonRefused, abridge(append([]string{"The configuration before stays in force"}, lines...)))
}

// returned notes that the source is what is in force.
func (r *reloader) returned(ctx context.Context) {
	if r.refused == "" {
		return
	}
	r.refused = ""
	r.counts.applied()
	klog.FromContext(ctx).Info("The configuration is again the one that is in force")
	r.pod.tell(v1.EventTypeNormal, reasonApplied, "The configuration is again the one that is in force.")
}

func (r *reloader) accept(ctx context.Context, now *config.Config) {
	before := r.current
	r.current, r.refused = now, ""
	r.apply(now)
	r.counts.applied()
	what := config.Diff(before, now).String()
	klog.FromContext(ctx).Info("Applied the changed configuration", "changes", what)
	warn(ctx, before.Warnings, now)
	r.pod.tell(v1.EventTypeNormal, reasonApplied, abridge([]string{"Applied the changed configuration: " + what + "."}))
}

// warn logs the warnings of a configuration that were not there before.
func warn(ctx context.Context, before []config.Warning, now *config.Config) {
	told := map[string]bool{}
	for _, w := range before {
		told[w.Field+w.Message] = true
	}
	for _, w := range now.Warnings {
		if !told[w.Field+w.Message] {
			log := klog.FromContext(ctx)
			if w.VCenter != "" {
				log = log.WithValues("vCenter", w.VCenter)
			}
			log.Info("The configuration is in force with a warning", "warning", w.String())
		}
	}
}
