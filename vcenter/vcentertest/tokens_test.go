package vcentertest_test

import (
	"testing"
	"time"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestTokenServicesOfTwoSimulators checks that the lookup service of each simulator names its own token service, because
// tests run in parallel.
func TestTokenServicesOfTwoSimulators(t *testing.T) {
	_, cfg := vcentertest.WithTokens(t)
	_, _ = vcentertest.WithTokens(t)
	cfg.Insecure = true
	e := session.NewEndpoint(&cfg, session.Options{
		Timeout: time.Minute, LoginTimeout: time.Minute,
		Throttle: session.NewLoginThrottle(session.LoginLimits{}, nil), Observer: new(vcentertest.Counter), Guard: &faults.Guard{},
	})
	s, err := session.Open(t.Context(), e, vcentertest.CertificateCredentials(t, &cfg))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
