package session_test

import (
	"strings"
	"testing"
	"time"

	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

// TestACallWaitsForItsLogin checks that a REST call waits for its login for the time of a call, or to the end of the
// login with LoginLimits.Queue.
func TestACallWaitsForItsLogin(t *testing.T) {
	for name, c := range map[string]struct {
		limits session.LoginLimits
		want   string
	}{
		"tries again": {session.LoginLimits{}, "no answer within 10s; waiting for up to 1m0s"},
		"once":        {session.LoginLimits{Queue: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, cfgs := vcentertest.Simulate(t, bare)
			e := session.NewEndpoint(&cfgs[0], session.Options{
				Timeout: 10 * time.Second, LoginTimeout: time.Minute,
				Throttle: session.NewLoginThrottle(c.limits, nil), Observer: new(vcentertest.Counter), Guard: &faults.Guard{},
			})
			s, err := session.Open(t.Context(), e, credentials.Credentials{User: cfgs[0].User, Password: cfgs[0].Password})
			if err != nil {
				t.Fatal(err)
			}
			sim.VCenters()[0].SlowLogin(15 * time.Second)
			if err := readCategories(t.Context(), s); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			_ = s.REST().Wait()
			closing(t, s)
		})
	}
}
