package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/topology/quote"
)

// A said is an Event of vzones, without the object that it is about.
type said struct{ Type, Reason, Message string }

// source is the component in the Events of vzones.
const source = "vzones"

// ofVZones returns all Events of vzones that there have been, sorted.
func (o *observer) ofVZones() []said {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.SortedFunc(maps.Keys(o.said), func(a, b said) int {
		return strings.Compare(a.Reason+a.Message, b.Reason+b.Message)
	})
}

// checkTexts returns what an operator would complain about in the Events that there have
// been.
func (w *world) checkTexts() error {
	var errs []error
	for _, e := range w.eyes.ofVZones() {
		if is := flaw(e); is != "" {
			errs = append(errs, fmt.Errorf("an Event %s: %s: %s", is, e.Reason, e.Message))
		}
	}
	return errors.Join(errs...)
}

var (
	// advice matches the beginning of what to do, or that nothing has to be done.
	advice = regexp.MustCompile(`(?i)(^|[:;,.?] |or )(add|attach|change|check|connect|correct|delete|detach|disconnect|give|have|keep|let|make|move|put|reconnect|remove|rename|renew|restart|restore|see|start|tag|take|wait|write|close|did you mean|look at|turn|raise)\b|` +
		`is tried again|goes on then|is read again|are read next|is read next`)
	// aboutNoVCenter matches what concerns no vCenter: the Node's own fields, and the configuration.
	aboutNoVCenter = regexp.MustCompile(`^(ConfigurationRefused|ConfigurationApplied|SystemUUIDMissing) |provider ID |annotation vzones/|nodes\.skipDeletion|--node-ip`)
	// raw matches what only a programmer reads.
	raw = regexp.MustCompile(`https?://|%!|\b(unknown|missing|ambiguous|invalid|no address|no such machine): |ClusterComputeResource|HostSystem|VirtualMachine\b`)
)

// flaw returns what is wrong with an Event, empty if nothing is. Normal Events need no
// advice.
func flaw(e said) string {
	switch {
	case strings.ContainsAny(e.Message, "\n\r"):
		return "has several lines"
	case len(e.Message) > quote.LongestNote:
		return fmt.Sprintf("has %d bytes", len(e.Message))
	case raw.MatchString(e.Message):
		return "says " + strings.TrimSpace(raw.FindString(e.Message))
	case e.Type == v1.EventTypeNormal:
		return ""
	case !strings.Contains(e.Message, "vCenter") && !aboutNoVCenter.MatchString(e.Reason+" "+e.Message):
		return "does not name the vCenter"
	case !advice.MatchString(e.Message):
		return "does not say what to do"
	}
	return ""
}
