package dryrun

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/topology/quote"
)

// A changed Node is what would be written to a Node.
type changed struct {
	uid     types.UID
	fields  map[string]Change
	deleted bool
	// refused is why the API server refuses a write, empty if it refuses none.
	refused string
}

// A warning is an Event that would be recorded.
type warning struct{ object, reason, message string }

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

// node returns the changes of a Node. Another Node of that name takes its place.
func (c *changes) node(name string, uid types.UID) *changed {
	n := c.nodes[name]
	if n == nil || n.uid != uid {
		n = &changed{uid: uid, fields: map[string]Change{}}
		c.nodes[name] = n
	}
	return n
}

// write notes what a write would change.
func (c *changes) write(now, would *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.node(now.Name, now.UID)
	for _, ch := range differences(now, would) {
		if before, there := n.fields[ch.Field]; !there || !before.equal(ch) {
			n.fields[ch.Field] = ch
			c.version++
		}
	}
}

// remove notes that a Node would be deleted.
func (c *changes) remove(node *v1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.node(node.Name, node.UID); !n.deleted {
		n.deleted = true
		c.version++
	}
}

// refuse notes that the API server refuses a write of a Node.
func (c *changes) refuse(node *v1.Node, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.node(node.Name, node.UID); n.refused != why {
		n.refused = why
		c.version++
	}
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

// record notes an Event that would be recorded. Those that say that all is well repeat what
// the table has.
func (c *changes) record(e *v1.Event) {
	if e.Type != v1.EventTypeWarning {
		return
	}
	of := e.InvolvedObject
	object := of.Kind + " " + quote.Name(of.Name)
	if of.Namespace != "" {
		object = of.Kind + " " + quote.Name(of.Namespace+"/"+of.Name)
	}
	w := warning{object: object, reason: quote.Name(e.Reason), message: quote.Note(e.Message)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.warnings[w] {
		c.warnings[w] = true
		c.version++
	}
}

// untaints reports whether a write of a Node would take a taint off, or is refused.
func (c *changes) untaints(name, taint string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[name]
	if n == nil {
		return false
	}
	ch, there := n.fields["taint "+taint]
	return there && ch.Would == nil || n.refused != ""
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
		of.fields = maps.Clone(n.fields)
		nodes[name] = of
	}
	warnings := slices.SortedFunc(maps.Keys(c.warnings), func(a, b warning) int {
		return strings.Compare(a.object+"\x00"+a.reason+"\x00"+a.message, b.object+"\x00"+b.reason+"\x00"+b.message)
	})
	return nodes, warnings, slices.Sorted(maps.Keys(c.refused))
}
