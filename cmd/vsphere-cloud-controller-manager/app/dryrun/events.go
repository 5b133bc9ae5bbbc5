package dryrun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"vzones/topology/quote"
)

const (
	// reasonDryRun is the reason of the Events that say what a dry run has found.
	reasonDryRun = "DryRun"
	// longestMessage is how many bytes such an Event has at most.
	longestMessage = 400
	// longestName is how long the name of an Event may be, without the time behind it.
	longestName = 253 - len(".0123456789abcdef")
	// eventTimeout bounds the writing of one.
	eventTimeout = 10 * time.Second
	// source is the component that Events name, as those of the daemon do.
	source = "vzones"
)

// A note is the Event of a Node.
type note struct {
	name, kind, message string
	uid                 types.UID
}

// notes returns an Event for each Node that would change or has a problem, in order.
func (r *report) notes() []note {
	all := map[string]note{}
	for _, p := range r.problems {
		all[p.name] = note{name: p.name, uid: p.uid, kind: v1.EventTypeWarning, message: cut("Problem: "+p.why, longestMessage)}
	}
	for _, name := range r.names() {
		c := r.changed[name]
		n := cmp.Or(all[name], note{name: name, uid: c.uid, kind: v1.EventTypeNormal})
		if n.message != "" {
			n.message = cut(n.message, longestMessage/2) + "; "
		}
		n.message += c.text(longestMessage - len(n.message))
		if c.deleted {
			n.kind = v1.EventTypeWarning
		}
		all[name] = n
	}
	return slices.SortedFunc(maps.Values(all), func(a, b note) int { return cmp.Compare(a.name, b.name) })
}

// text says in so many bytes what would be written to a Node.
func (c *changed) text(longest int) string {
	if c.deleted {
		return "Would be deleted, since no vCenter has its machine"
	}
	const begin = "Would be written: "
	var texts []string
	for _, row := range c.rows() {
		texts = append(texts, fmt.Sprintf("%s: %s → %s", row.field, row.now, row.would))
	}
	return begin + abridge(texts, longest-len(begin))
}

// abridge lists as many texts as fit into a length, and how many more there are.
func abridge(texts []string, longest int) string {
	all := strings.Join(texts, "; ")
	for n := len(texts) - 1; len(all) > longest && n > 0; n-- {
		all = fmt.Sprintf("%s; and %d more", strings.Join(texts[:n], "; "), len(texts)-n)
	}
	return cut(all, longest)
}

// cut returns a text on one line that has at most so many bytes.
func cut(text string, longest int) string {
	const more = "…"
	text = quote.Note(text)
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest-len(more)], "") + more
}

// record writes the Events, one after the other. They are the only objects that a dry run writes.
func (r *report) record(ctx context.Context, client kubernetes.Interface) error {
	for _, n := range r.notes() {
		now := metav1.Now()
		name := fmt.Sprintf("%s.%016x", strings.TrimRight(n.name[:min(len(n.name), longestName)], ".-"), now.UnixNano())
		e := &v1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
			InvolvedObject: v1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.name, UID: n.uid},
			Type:           n.kind, Reason: reasonDryRun, Message: n.message, Count: 1,
			FirstTimestamp: now, LastTimestamp: now,
			Source: v1.EventSource{Component: source}, ReportingController: source,
		}
		limited, cancel := context.WithTimeout(ctx, eventTimeout)
		_, err := client.CoreV1().Events(metav1.NamespaceDefault).Create(limited, e, metav1.CreateOptions{})
		cancel()
		if err != nil {
			return fmt.Errorf("recording the Event of Node %s: %w", quote.Plain(n.name), err)
		}
	}
	return nil
}
