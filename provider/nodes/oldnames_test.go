package nodes

import (
	"testing"
	"time"

	"vzones/config"
)

// AskHome does nothing.
func (f *fakeSource) AskHome(string, string) {}

// ReadTags finds the names as they are.
func (f *fakeSource) ReadTags(vcenter string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tagReads++
	if f.slowNames > 0 {
		began := time.Now()
		time.AfterFunc(f.slowNames, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			for n, p := range f.places {
				if vcenterOf(n) == vcenter {
					p.TagNamesReadAt = began
					f.places[n] = p
				}
			}
			f.contacts[vcenter] = time.Now()
			f.announce()
		})
		return
	}
	for n := range f.oldNames {
		if vcenterOf(n) == vcenter {
			delete(f.oldNames, n)
		}
	}
	f.announce()
}

// TestNamesThatTakeLong: a Node is written by names that were read since they were asked
// for, although they are old by the time that they are known.
func TestNamesThatTakeLong(t *testing.T) {
	const takes = 90 * time.Second
	inWorld(t, topologyOf(config.DriftReport), func(w *world) {
		w.source.mu.Lock()
		w.source.slowNames = takes
		w.source.oldNames["east-1"] = true
		w.source.mu.Unlock()
		w.source.place(at("r", "a", "r1"), nil, "east-1", "east-2")
		w.pass(takes - time.Second)
		w.wantLabels("east-1")
		w.wantLabels("east-2", append(zoned("r", "a"), rack+"=r1")...)
		w.pass(2 * time.Second)
		w.wantLabels("east-1", append(zoned("r", "a"), rack+"=r1")...)
	}, named("east-1"), named("east-2"))
}
