package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"vzones/vcenter/guestinfo"
	"vzones/vcenter/watch/model"
)

// TestGuestsAreLoggedSeldom: a guest that goes back and forth is not logged each time.
func TestGuestsAreLoggedSeldom(t *testing.T) {
	r, now, n := guestLog{}, time.Now(), 0
	for range 100 {
		for _, holds := range []bool{true, true, false} {
			if now = now.Add(time.Second); r.due(guestProblem{"vm-1", model.OfReport}, holds, now) {
				n++
			}
		}
	}
	if n != 1 {
		t.Errorf("logged %d times", n)
	}
	if r.due(guestProblem{"vm-1", model.OfHostName}, true, now) != true || r.due(guestProblem{"vm-2", model.OfReport}, true, now) != true {
		t.Error("another subject, or another machine, is not logged")
	}
	r.due(guestProblem{"vm-2", model.OfReport}, false, now)
	now = now.Add(guestLogPause + time.Second)
	if !r.due(guestProblem{"vm-1", model.OfReport}, true, now) {
		t.Error("not logged again after a while")
	}
	if r.due(guestProblem{"vm-3", model.OfReport}, true, now); len(r) != 3 {
		t.Errorf("what is long over is not forgotten: %v", r)
	}
}

// TestWhatGuestsSayIsNotLogged: metadata that cannot be read is logged once while that is so,
// without a word of it.
func TestWhatGuestsSayIsNotLogged(t *testing.T) {
	tree, l := model.NewTree(rootFolder), guestLog{}
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(2)))
	ctx := klog.NewContext(t.Context(), log)
	for i := range 6 {
		u := update(types.ObjectUpdateKindModify, model.GuestMetadata, types.OptionValue{Key: guestinfo.Key, Value: fmt.Sprint("S3cret: [", i/2)})
		tree.Apply(&u)
		l.write(ctx, tree)
		for text := range tree.PendingMetadata() {
			addresses, err := guestinfo.Addresses(text.Text)
			tree.TakeMetadata(model.Reading{Machine: text.Machine, Digest: text.Digest, Addresses: addresses, Err: err})
		}
		l.write(ctx, tree)
	}
	logged := log.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(logged, "vm-1") != 1 || strings.Contains(logged, "S3cret") {
		t.Errorf("logged: %s", logged)
	}
}
