package vcenter

import (
	"cmp"
	"context"
	"hash/maphash"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
)

// A text that a guest or its owner writes is parsed in a goroutine of its own, so that
// one that is costly holds up no change of the vCenter, and only if it is another one.
const (
	// metadataAtOnce is after how much time what has been read is taken over, while
	// there is more to read: each time, a snapshot is made.
	metadataAtOnce = 100 * time.Millisecond
	// metadataMin is the least time between two readings of one machine's metadata. It
	// doubles up to metadataMax while that goes on changing.
	metadataMin = 100 * time.Millisecond
	metadataMax = 30 * time.Second
)

var seed = maphash.MakeSeed()

// static is what is kept of a machine's metadata.
type static struct {
	// addresses and unreadable are what was read last. known says that something was.
	addresses  []netip.Addr
	unreadable error
	known      bool
	// digest is of the text that the machine has, of of the one that was read. While
	// they differ, text is the one that is to be read.
	digest, of uint64
	text       string
}

func (s static) pending() bool { return s.digest != s.of }

// follow takes over the text that a machine has now. It parses nothing.
func (s static) follow(value any) static {
	if option, whole := value.(types.OptionValue); whole {
		value = option.Value
	}
	text, _ := value.(string)
	digest := maphash.String(seed, text)
	switch {
	case digest == s.digest:
		return s
	case digest == s.of: // again
		s.digest, s.text = digest, ""
		return s
	case text == "":
		return static{known: true, digest: digest, of: digest}
	case len(text) > guestinfo.MaxEncoded:
		return static{unreadable: guestinfo.ErrSize, known: true, digest: digest, of: digest}
	}
	// What comes of a server's answer may be a part of something longer.
	s.digest, s.text = digest, strings.Clone(text)
	return s
}

func (p properties) static() static {
	s, _ := p[guestMetadata].(static)
	return s
}

// metadataText is what a machine's metadata is, metadataRead what it says.
type (
	metadataText struct {
		ref    types.ManagedObjectReference
		digest uint64
		text   string
	}
	metadataRead struct {
		ref       types.ManagedObjectReference
		digest    uint64
		addresses []netip.Addr
		err       error
	}
	// metadataBatch is some of what was read. The last one of those that were asked
	// for together says so.
	metadataBatch struct {
		read []metadataRead
		last bool
	}
)

// metadataReader has a watch's metadata read. All but the channels belongs to run.
type metadataReader struct {
	// texts is what to read: run sends to it when nothing is under way, and
	// readMetadata receives. read is what has been read, the other way. Nobody closes
	// them.
	texts chan []metadataText
	read  chan metadataBatch
	// busy says that something is under way.
	busy bool
	// paces are of machines whose metadata was read lately.
	paces map[types.ManagedObjectReference]pace
	// due is when there is more to read, nil if there is not.
	due <-chan time.Time
}

// pace says when a machine's metadata may be read again, and how long it may not after
// that.
type pace struct {
	next  time.Time
	delay time.Duration
}

// after returns the pace after a reading.
func (p pace) after(now time.Time) pace {
	delay := metadataMin
	if now.Before(p.next.Add(p.delay)) {
		delay = min(2*p.delay, metadataMax)
	}
	return pace{now.Add(delay), delay}
}

func newMetadataReader() metadataReader {
	return metadataReader{
		texts: make(chan []metadataText, 1), read: make(chan metadataBatch),
		paces: map[types.ManagedObjectReference]pace{},
	}
}

// haveMetadataRead hands over what is to be read now, short texts first.
func (w *watch) haveMetadataRead() {
	m := &w.metadata
	if m.busy {
		return
	}
	now := time.Now()
	var texts []metadataText
	wait := time.Duration(0)
	for ref := range w.model.tree.pending {
		s := w.model.tree.objects[ref].static()
		if !s.pending() {
			delete(w.model.tree.pending, ref)
			continue
		}
		if early := m.paces[ref].next.Sub(now); early > 0 {
			if wait == 0 || early < wait {
				wait = early
			}
			continue
		}
		texts = append(texts, metadataText{ref, s.digest, s.text})
	}
	m.due = nil
	if wait > 0 {
		m.due = time.After(wait)
	}
	if len(texts) == 0 {
		return
	}
	for ref, p := range m.paces {
		if now.After(p.next.Add(p.delay)) {
			delete(m.paces, ref)
		}
	}
	for _, t := range texts {
		m.paces[t.ref] = m.paces[t.ref].after(now)
	}
	slices.SortFunc(texts, func(a, b metadataText) int {
		return cmp.Or(cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.ref.Value, b.ref.Value))
	})
	m.busy = true
	m.texts <- texts
}

// readMetadata reads metadata until the context is done.
func (w *watch) readMetadata(ctx context.Context) error {
	for {
		var texts []metadataText
		select {
		case texts = <-w.metadata.texts:
		case <-ctx.Done():
			return ctx.Err()
		}
		var batch metadataBatch
		began := time.Now()
		for i, t := range texts {
			addresses, err := w.c.parse(t.text)
			batch.read = append(batch.read, metadataRead{t.ref, t.digest, addresses, err})
			batch.last = i == len(texts)-1
			if !batch.last && time.Since(began) < metadataAtOnce {
				continue
			}
			select {
			case w.metadata.read <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
			batch, began = metadataBatch{}, time.Now()
		}
	}
}

// tookMetadata takes over what was read.
func (w *watch) tookMetadata(batch metadataBatch) {
	w.metadata.busy = !batch.last
	for _, r := range batch.read {
		w.changed = w.model.tree.takeMetadata(r) || w.changed
	}
}

// takeMetadata takes over what was read of a machine's metadata, if it still has it.
func (t *tree) takeMetadata(r metadataRead) bool {
	p := t.objects[r.ref]
	if p == nil || p.static().digest != r.digest {
		return false
	}
	p[guestMetadata] = static{addresses: r.addresses, unreadable: r.err, known: true, digest: r.digest, of: r.digest}
	t.guests[r.ref] = true
	return true
}

// unknownMetadata reports whether there is metadata of which nothing was ever read.
func (t *tree) unknownMetadata() bool {
	for ref := range t.pending {
		if s := t.objects[ref].static(); s.pending() && !s.known {
			return true
		}
	}
	return false
}
