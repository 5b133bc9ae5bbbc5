package watch

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"vzones/topology/quote"
	"vzones/vcenter/watch/model"
)

// A text that a guest or its owner writes is parsed in a goroutine of its own, so that
// one that is costly holds up no change of the vCenter, and only if it has changed.
const (
	// metadataBatchTime is after how much time what has been read is applied, while
	// there is more to read: each time, a snapshot is made.
	metadataBatchTime = 100 * time.Millisecond
	// metadataPause is the pause between two readings of one machine's metadata that goes on
	// changing, after the first metadataAtOnce.
	metadataPause  = 30 * time.Second
	metadataAtOnce = 5
)

// A metadataBatch is some of what was read. The last one of those that were asked
// for together says so.
type metadataBatch struct {
	read []model.Reading
	last bool
}

// A metadataParser reads metadata, in a goroutine of its own.
type metadataParser struct {
	parse func(string) ([]netip.Addr, error)
	// texts is what to read: the metadataReader sends to it when nothing is under way, and
	// run receives. read is what has been read, the other way. Nobody closes them.
	texts chan []model.Text
	read  chan metadataBatch
}

// A metadataReader has a watch's metadata read. It belongs to the goroutine of the model.
type metadataReader struct {
	parser metadataParser
	// busy says that something is under way.
	busy bool
	// paces are of machines whose metadata was read recently.
	paces map[types.ManagedObjectReference]*rate.Limiter
}

func newMetadataReader(parse func(string) ([]netip.Addr, error)) *metadataReader {
	return &metadataReader{
		parser: metadataParser{parse: parse, texts: make(chan []model.Text, 1), read: make(chan metadataBatch)},
		paces:  map[types.ManagedObjectReference]*rate.Limiter{},
	}
}

// request hands over what is to be read now, short texts first.
func (m *metadataReader) request(tree *model.Tree) {
	if m.busy {
		return
	}
	maps.DeleteFunc(m.paces, func(_ types.ManagedObjectReference, p *rate.Limiter) bool { return p.Tokens() >= metadataAtOnce })
	var texts []model.Text
	for t := range tree.PendingMetadata() {
		if m.paces[t.Machine] == nil {
			m.paces[t.Machine] = rate.NewLimiter(rate.Every(metadataPause), metadataAtOnce)
		}
		if m.paces[t.Machine].Allow() {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 {
		return
	}
	slices.SortFunc(texts, func(a, b model.Text) int {
		return cmp.Or(cmp.Compare(len(a.Text), len(b.Text)), cmp.Compare(a.Machine.Value, b.Machine.Value))
	})
	m.busy = true
	m.parser.texts <- texts
}

// run reads metadata until the context is done.
func (m metadataParser) run(ctx context.Context) error {
	for {
		var texts []model.Text
		select {
		case texts = <-m.texts:
		case <-ctx.Done():
			return ctx.Err()
		}
		var batch metadataBatch
		began := time.Now()
		for i, t := range texts {
			addresses, err := m.parse(t.Text)
			batch.read = append(batch.read, model.Reading{Machine: t.Machine, Digest: t.Digest, Addresses: addresses, Err: err})
			batch.last = i == len(texts)-1
			if !batch.last && time.Since(began) < metadataBatchTime {
				continue
			}
			select {
			case m.read <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
			batch, began = metadataBatch{}, time.Now()
		}
	}
}

// take applies what was read, and reports whether any of it still counts.
func (m *metadataReader) take(ctx context.Context, tree *model.Tree, batch metadataBatch) (changed bool) {
	m.busy = !batch.last
	for _, r := range batch.read {
		changed = tree.TakeMetadata(r) || changed
		if r.Err != nil {
			klog.FromContext(ctx).V(2).Info("The addresses in the machine's guestinfo.metadata do not count", "moid", r.Machine.Value, "err", quote.Line(r.Err.Error()))
		}
	}
	return changed
}
