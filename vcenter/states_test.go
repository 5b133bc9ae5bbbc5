package vcenter

import (
	"context"
	"testing"
	"time"

	"vzones/config"
)

// TestStatesAreMadeOnce for each change of a status or of the members.
func TestStatesAreMadeOnce(t *testing.T) {
	source := func(context.Context, *config.VCenter) (Credentials, error) { return Credentials{}, nil }
	a := actorOf(&target{cfg: config.VCenter{Name: "east", Server: "east.example.com"}}, source, timing{timeout: time.Minute}, func() {})
	var f Fleet
	f.members.Store(&[]member{{a.handle, a.first}})
	first := f.States()
	if again := f.States(); &again[0] != &first[0] {
		t.Error("made again though nothing has changed")
	}
	if n := testing.AllocsPerRun(100, func() { f.States() }); n > 0 {
		t.Errorf("%v allocations for what is there", n)
	}
	a.update(func(a *actor) bool { a.now.state.LastContact = time.Unix(7, 0); return false })
	if now := f.States(); !now[0].LastContact.Equal(time.Unix(7, 0)) || !first[0].LastContact.IsZero() {
		t.Errorf("after a status: %v, and before it %v", now[0].LastContact, first[0].LastContact)
	}
	f.members.Store(new([]member))
	if now := f.States(); len(now) > 0 {
		t.Errorf("without members: %v", now)
	}
}
