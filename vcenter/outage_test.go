package vcenter

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"vzones/config"
	"vzones/vcenter/inventory"
	"vzones/vcenter/watch"
)

// TestOutageIsLoggedOnce: an outage is logged once although its errors alternate, further
// times only at a higher verbosity, and its end.
func TestOutageIsLoggedOnce(t *testing.T) {
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(4)))
	ctx := klog.NewContext(t.Context(), log)
	a := actorOf(&target{cfg: config.VCenter{Name: "east", Server: "east"}}, FromFile, timing{}, func() {})
	slow, refused := errors.New("no answer within 15s"), errors.New("connection refused")
	for range 2 {
		for range 3 {
			a.fail(ctx, slow)
			a.fail(ctx, refused)
		}
		a.update(func(a *actor) bool {
			a.read(ctx, watch.Publication{Snapshot: &inventory.Snapshot{VCenter: "east"}, LastContact: time.Now()})
			return true
		})
	}
	text := log.GetSink().(ktesting.Underlier).GetBuffer().String()
	for what, want := range map[string]int{
		"Cannot read the vCenter; its Nodes keep what they have": 2,
		"Still cannot read the vCenter":                          10,
		"The vCenter can be read again":                          2,
	} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("%d times %q, want %d:\n%s", got, what, want, text)
		}
	}
}
