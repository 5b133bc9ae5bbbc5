package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

const bare = `
vcenters:
- name: east
- name: west
`

func tryLogin(t *testing.T, cfg *config.VCenter) error {
	t.Helper()
	s, err := open(t, cfg, credentials.Credentials{User: cfg.User, Password: cfg.Password}, 30*time.Second)
	if err != nil {
		return err
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("logging out: %v", err)
	}
	return nil
}

// TestCallsEndWithTheirContext checks that stopping the daemon waits for no vCenter.
func TestCallsEndWithTheirContext(t *testing.T) {
	sim, cfgs := vcentertest.Simulate(t, bare)
	s, err := open(t, &cfgs[0], credentials.Credentials{User: cfgs[0].User, Password: cfgs[0].Password}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Client().Client.Client.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := methods.GetCurrentTime(ctx, s.Client()); !errors.Is(err, context.Canceled) {
		t.Errorf("a call with a context that is done: error %v, want context.Canceled", err)
	}
	if n := sim.VCenters()[0].Requests()["CurrentTime"]; n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestALoginThatIsGivenUp checks that an abandoned login is no rejection, whatever the cancellation cause.
func TestALoginThatIsGivenUp(t *testing.T) {
	_, f, cfg := vcentertest.EastBehindFront(t)
	f.Answer(vcentertest.Hang("/sdk"))
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(session.ErrRejected) })
	e, _ := endpoint(&cfg, time.Minute)
	s, err := session.Open(ctx, e, credentials.Credentials{User: cfg.User, Password: cfg.Password})
	if s != nil || !errors.Is(err, context.Canceled) || errors.Is(err, session.ErrRejected) {
		t.Errorf("Open, given up while the server hangs: session %v, error %v, want context.Canceled and no rejection", s, err)
	}
}
