package session_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vzones/config"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
	"vzones/vcenter/vcentertest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// More than there are processors, because tests mostly wait.
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// endpoint returns the endpoint of a vCenter with an Observer that counts.
func endpoint(cfg *config.VCenter, timeout time.Duration) (*session.Endpoint, *vcentertest.Counter) {
	n := new(vcentertest.Counter)
	return session.NewEndpoint(cfg, session.Options{
		Timeout: timeout, LoginTimeout: timeout, Throttle: session.NewLoginThrottle(session.LoginLimits{}, nil), Observer: n, Guard: &faults.Guard{},
	}), n
}

// open logs in to a vCenter with a new throttle.
func open(t *testing.T, cfg *config.VCenter, creds credentials.Credentials, timeout time.Duration) (*session.Session, error) {
	t.Helper()
	e, _ := endpoint(cfg, timeout)
	return session.Open(t.Context(), e, creds)
}

func closing(t *testing.T, s *session.Session) {
	t.Helper()
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Errorf("logging out: %v", err)
	}
}

func readCategories(ctx context.Context, s *session.Session) error {
	return tags.With(ctx, s.REST(), func(service tags.Service) error {
		_, err := service.Categories(ctx)
		return err
	})
}
