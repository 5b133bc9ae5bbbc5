package dryrun

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/cmd/vsphere-cloud-controller-manager/app/vcenters"
	"vzones/provider/condition"
	"vzones/topology/quote"
)

// A changed Node is what would be written to a Node.
type changed struct {
	uid     types.UID
	fields  map[string]Change
	deleted bool
	// failed says of each write that has no result why.
	failed map[action]string
}

// failure returns why a write of the Node has no result, empty if all have one.
func (c *changed) failure() string {
	if len(c.failed) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Values(c.failed)))
}

// A warning is an Event that would be recorded. The node is the name of its object if that is one.
type warning struct{ node, object, reason, message string }

// isEndedBy reports whether an Event about the same object says that what the Warning says is
// over. That about a vCenter on the Pod begins with the vCenter.
func (w warning) isEndedBy(over warning) bool {
	words := strings.Fields(over.message)
	if w.object != over.object || !slices.Contains(words, w.reason) {
		return false
	}
	switch over.reason {
	case condition.ReasonResolved:
		return true
	case vcenters.ReasonRecovered:
		about, _, _ := strings.Cut(over.message, " has recovered from ")
		return strings.Contains(w.message, about)
	}
	return false
}

// changes are all writes that were not made. The framework repeats a write whose result does
// not come to stay, and so each field is in it once.
type changes struct {
	mu       sync.Mutex
	nodes    map[string]*changed
	warnings map[warning]bool
	// refused are writes that are not about one Node.
	refused map[string]bool
	// version counts what has changed in these.
	version int
	// answered are the writes that have had an answer, and pending is how many others are under
	// way.
	answered map[request]bool
	pending  int
}

// A request is what makes a write the same as another one: its method, URL and body.
type request struct {
	method, url string
	body        [sha256.Size]byte
}

func newChanges() *changes {
	return &changes{nodes: map[string]*changed{}, warnings: map[warning]bool{}, refused: map[string]bool{}, answered: map[request]bool{}}
}

// begin notes that a write is under way, until the function that it returns is called.
func (c *changes) begin(of request) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered[of] {
		return func() {}
	}
	c.pending++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pending--
		c.answered[of] = true
	}
}

// state returns a number that differs once there is something new, and whether a write is
// under way whose result is not known.
func (c *changes) state() (version int, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, c.pending > 0
}

// node returns the changes of a Node. Another Node of that name takes its place. The UID is empty
// if the Node could not be read.
func (c *changes) node(name string, uid types.UID) *changed {
	n := c.nodes[name]
	switch {
	case n == nil, n.uid != uid && n.uid != "" && uid != "":
		n = &changed{uid: uid, fields: map[string]Change{}, failed: map[action]string{}}
		c.nodes[name] = n
	case n.uid == "":
		n.uid = uid
	}
	return n
}

// write notes what a write would change, and that it has a result.
func (c *changes) write(of action, now, would *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.node(now.Name, now.UID)
	c.succeed(n, of)
	for _, ch := range differences(now, would) {
		if before, there := n.fields[ch.Field]; !there || !before.equal(ch) {
			n.fields[ch.Field] = ch
			c.version++
		}
	}
}

// remove notes that a Node would be deleted.
func (c *changes) remove(of action, node *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.node(node.Name, node.UID)
	c.succeed(n, of)
	if !n.deleted {
		n.deleted = true
		c.version++
	}
}

// fail notes that a write of a Node has no result, until the same has one. The text is often not
// the same when it fails again, which is nothing new.
func (c *changes) fail(of action, name string, uid types.UID, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.node(name, uid)
	if n.failed[of] == "" {
		c.version++
	}
	n.failed[of] = why
}

func (c *changes) succeed(n *changed, of action) {
	if n.failed[of] != "" {
		delete(n.failed, of)
		c.version++
	}
}

// progress returns of how many Nodes something is known, and whether a write of one has no result.
func (c *changes) progress() (nodes int, failing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		failing = failing || len(n.failed) > 0
	}
	return len(c.nodes), failing
}

// refuseOther notes a write that is not sent.
func (c *changes) refuseOther(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refused[what] {
		c.refused[what] = true
		c.version++
	}
}

// record notes an Event that would be recorded. One that says that all is well repeats what
// the table has, or ends a Warning.
func (c *changes) record(e *v1.Event) {
	of := e.InvolvedObject
	object := of.Kind + " " + quote.Name(of.Name)
	if of.Namespace != "" {
		object = of.Kind + " " + quote.Name(of.Namespace+"/"+of.Name)
	}
	w := warning{object: object, reason: quote.Name(e.Reason), message: quote.Note(e.Message)}
	if of.Kind == "Node" {
		w.node = of.Name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case e.Type != v1.EventTypeWarning:
		c.end(w)
	case !c.warnings[w]:
		c.warnings[w] = true
		c.version++
	}
}

// end takes back the Warnings that an Event says are over, and the condition that says the same.
func (c *changes) end(over warning) {
	for w := range c.warnings {
		if w.isEndedBy(over) {
			delete(c.warnings, w)
			c.version++
		}
	}
	if n := c.nodes[over.node]; n != nil && over.reason == condition.ReasonResolved {
		maps.DeleteFunc(n.fields, func(_ string, ch Change) bool {
			reason := ch.conditionReason()
			return reason != "" && slices.Contains(strings.Fields(over.message), reason)
		})
	}
}

// untaints reports whether a write of a Node would take a taint off, or has no result at last.
func (c *changes) untaints(name, taint string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil {
		return false
	}
	ch, there := n.fields["taint "+taint]
	return there && ch.Would == nil || len(n.failed) > 0
}

// isRemoved reports whether a Node would be deleted.
func (c *changes) isRemoved(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	return n != nil && n.deleted
}

// all returns the changes of the Nodes by their names, the Events, and the other refusals, in
// order.
func (c *changes) all() (map[string]changed, []warning, []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make(map[string]changed, len(c.nodes))
	for name, n := range c.nodes {
		of := *n
		of.fields, of.failed = maps.Clone(n.fields), maps.Clone(n.failed)
		nodes[name] = of
	}
	warnings := slices.SortedFunc(maps.Keys(c.warnings), func(a, b warning) int {
		return strings.Compare(a.object+"\x00"+a.reason+"\x00"+a.message, b.object+"\x00"+b.reason+"\x00"+b.message)
	})
	return nodes, warnings, slices.Sorted(maps.Keys(c.refused))
}
