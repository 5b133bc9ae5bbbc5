package world

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"vzones/provider/report"
)

// readEvents reads the Warnings about the Pods, the workload, and the ReplicaSets of a Deployment.
func (d *Daemon) readEvents(ctx context.Context, s *DaemonState) error {
	warnings, err := d.events(ctx, d.Namespace, "type", v1.EventTypeWarning)
	if err != nil {
		return err
	}
	var ends []v1.Event
	for _, reason := range []string{reasonRecovered, reasonApplied} {
		found, err := d.events(ctx, d.Namespace, "reason", reason)
		if err != nil {
			return err
		}
		ends = append(ends, found...)
	}
	for i := range warnings {
		if e := &warnings[i]; d.concerns(e) && !d.isOver(e, ends) {
			s.Events = append(s.Events, *e)
		}
	}
	slices.SortStableFunc(s.Events, func(a, b v1.Event) int { return eventTime(&b).Compare(eventTime(&a)) })
	return nil
}

// readNodeEvents reads the daemon's Warnings about Nodes.
func (d *Daemon) readNodeEvents(ctx context.Context, s *DaemonState) error {
	warnings, err := d.events(ctx, metav1.NamespaceDefault, "type", v1.EventTypeWarning)
	if err != nil {
		return err
	}
	s.NodeEvents = map[string]v1.Event{}
	for _, e := range warnings {
		name := e.InvolvedObject.Name
		newest, exists := s.NodeEvents[name]
		if e.InvolvedObject.Kind == "Node" && e.Source.Component == report.Source && (!exists || eventTime(&newest).Before(eventTime(&e))) {
			s.NodeEvents[name] = e
		}
	}
	return nil
}

// events lists the Events of a namespace in which a field has a value.
func (d *Daemon) events(ctx context.Context, namespace, field, value string) ([]v1.Event, error) {
	list, err := d.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(field, value).String()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (d *Daemon) concerns(e *v1.Event) bool {
	about := &e.InvolvedObject
	switch about.Kind {
	case d.workload.kind:
		return about.Name == d.workload.name
	case "ReplicaSet":
		return d.workload.kind == kindDeployment && strings.HasPrefix(about.Name, d.workload.name+"-")
	}
	return d.podOf(e) != nil
}

func (d *Daemon) podOf(e *v1.Event) *v1.Pod {
	i := slices.IndexFunc(d.pods, func(p *v1.Pod) bool { return e.InvolvedObject.Kind == "Pod" && p.Name == e.InvolvedObject.Name })
	if i < 0 {
		return nil
	}
	return d.pods[i]
}

// The reasons of the daemon's Events about the end of a problem.
const (
	reasonRecovered = "VCenterRecovered"
	reasonApplied   = "ConfigurationApplied"
)

// isOver reports whether a problem that the daemon recorded about its Pod is over: it recorded the end, or has started
// since and records the problem again if it persists.
func (d *Daemon) isOver(e *v1.Event, ends []v1.Event) bool {
	p := d.podOf(e)
	if p == nil || e.Source.Component != report.Source {
		return false
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.Name == containerOf(p).Name && c.State.Running != nil && eventTime(e).Before(c.State.Running.StartedAt.Time) {
			return true
		}
	}
	return slices.ContainsFunc(ends, func(end v1.Event) bool {
		isLater := d.podOf(&end) == p && !eventTime(&end).Before(eventTime(e))
		if end.Reason == reasonApplied {
			return isLater && e.Reason == "ConfigurationRejected"
		}
		return isLater && VCenterIn(end.Message) == VCenterIn(e.Message) && strings.Contains(end.Message, fmt.Sprintf(" from %s ", e.Reason))
	})
}

var vcenterText = regexp.MustCompile(`vCenter ("(?:[^"\\]|\\.)*")`)

// VCenterIn returns the quoted name of the first vCenter in an Event's message, or "".
func VCenterIn(message string) string {
	m := vcenterText.FindStringSubmatch(message)
	if m == nil {
		return ""
	}
	return m[1]
}

func eventTime(e *v1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
