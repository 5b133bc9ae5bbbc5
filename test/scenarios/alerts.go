package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Monitor scrapes the daemons of a scenario and evaluates alerting rules, as
// Prometheus does.
type Monitor interface {
	// Watch sets the ports of this machine that the daemons serve on.
	Watch(ports []int) error
	// Alerts returns the alerts that are active now.
	Alerts(ctx context.Context) ([]Alert, error)
}

// An Alert is one that is pending or firing.
type Alert struct {
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"`
}

// Name returns that of its rule.
func (a *Alert) Name() string { return a.Labels["alertname"] }

// alertTimeout is how long an alert is waited for where nothing else is said: it comes
// after scrapes and its own time.
const alertTimeout = 3 * time.Minute

// alertCommands check the alerts that follow from the metrics, and take rights from the daemon's account, as some alerts need.
func alertCommands() []command {
	return []command{
		{"alert ALERT fires [within DURATION]",
			"waits until an alert fires; ALERT is its name, and behind it `{LABEL=VALUE,…}` for one with these labels. Only in the scenarios of test/alerts, which a Prometheus watches", alertCommand("fires")},
		{"alert ALERT resolves [within DURATION]",
			"waits until it neither fires nor is about to", alertCommand("resolves")},
		{"alert only ALERT…", "checks that no alerts fire but these", func(a *arguments) action {
			names := a.rest()
			return func(ctx context.Context, w *world) error {
				return w.pollAlerts(ctx, time.Second, func(all []Alert) bool {
					return !slices.ContainsFunc(all, func(is Alert) bool { return is.State == "firing" && !slices.Contains(names, is.Name()) })
				})
			}
		}},
		{"roles without RESOURCE", "takes a resource, such as nodes, out of the rules of the ClusterRole of the daemon's account", func(a *arguments) action {
			resource := a.word("RESOURCE")
			return func(ctx context.Context, w *world) (err error) {
				w.restore, err = w.stack.RemoveRight(ctx, resource)
				return err
			}
		}},
		{"roles restored", "gives it back, as the end of a scenario does", func(*arguments) action {
			return func(ctx context.Context, w *world) error { return w.restored(ctx) }
		}},
	}
}

// restored gives back the rights that were taken.
func (w *world) restored(ctx context.Context) error {
	if w.restore == nil {
		return nil
	}
	restore := w.restore
	w.restore = nil
	return restore(ctx)
}

var errNoMonitor = errors.New("no Prometheus watches this scenario")

func alertCommand(verb string) func(*arguments) action {
	return func(a *arguments) action {
		m := a.metric()
		within := alertTimeout
		if len(a.words) > 0 {
			within = a.within()
		}
		return func(ctx context.Context, w *world) error {
			return w.pollAlerts(ctx, within, func(all []Alert) bool {
				active := slices.DeleteFunc(slices.Clone(all), func(is Alert) bool { return !m.fits(&is) })
				if verb == "resolves" {
					return len(active) == 0
				}
				return slices.ContainsFunc(active, func(is Alert) bool { return is.State == "firing" })
			})
		}
	}
}

// fits reports whether an alert has the name and the labels.
func (m *metric) fits(is *Alert) bool {
	for key, value := range m.labels {
		if is.Labels[key] != value {
			return false
		}
	}
	return is.Name() == m.name
}

// pollAlerts waits until the active alerts are as they should be.
func (w *world) pollAlerts(ctx context.Context, within time.Duration, met func([]Alert) bool) error {
	if w.monitor == nil {
		return errNoMonitor
	}
	var all []Alert
	var err error
	return w.poll(ctx, within, func() bool {
		all, err = w.monitor.Alerts(ctx)
		return err == nil && met(all)
	}, func() error { return errors.Join(err, fmt.Errorf("alerts: %+v", all)) })
}

// watched gives the monitor the ports of the daemons.
func (w *world) watched() error {
	if w.monitor == nil {
		return nil
	}
	var ports []int
	if w.daemon != nil {
		ports = append(ports, w.daemon.Port)
	}
	if w.standby != nil {
		ports = append(ports, w.standby.Port)
	}
	return w.monitor.Watch(ports)
}
