package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vzones/config"
	"vzones/vcenter/credentials"
)

var errTimedOut = &unansweredError{errors.New("no answer within 1m30s"), true}

func credsOf(name string) credentials.Credentials {
	return credentials.Credentials{User: name, Password: config.NewPassword("made-up-" + name)}
}

// try makes an attempt that takes the given time, and returns the error of its end.
func try(t *testing.T, a *LoginThrottle, api loginAPI, c credentials.Credentials, now time.Time, took time.Duration, err error) error {
	t.Helper()
	if err := a.begin(login{api: api, creds: c}, now); err != nil {
		t.Fatalf("not tried: %v", err)
	}
	return a.end(login{api: api, creds: c}, err, now.Add(took))
}

func TestRejectedCredentialsAreTriedAgainSlowly(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		err   error
		delay [][2]time.Duration
	}{
		"rejected":   {ErrRejected, [][2]time.Duration{{5 * m, 6 * m}, {10 * m, 12 * m}, {20 * m, 24 * m}, {25 * m, 30 * m}, {25 * m, 30 * m}}},
		"unanswered": {errTimedOut, [][2]time.Duration{{2 * m, 144 * time.Second}, {4 * m, 5 * m}, {8 * m, 10 * m}, {12 * m, 15 * m}, {12 * m, 15 * m}}},
	} {
		t.Run(name, func(t *testing.T) {
			jitter := map[time.Duration]bool{}
			for range 50 {
				a, now := NewLoginThrottle(LoginLimits{}, nil), time.Now()
				for n, want := range c.delay {
					err := try(t, a, loginSOAP, credsOf("a"), now, time.Second, c.err)
					next := NextAttempt(err)
					delay := next.Sub(now.Add(time.Second))
					if delay < want[0] || delay > want[1] || !errors.Is(err, c.err) || notAttempted(err) {
						t.Fatalf("attempt %d: next after %v, want %v: %v", n+1, delay, want, err)
					}
					later := a.Offer(credsOf("a"), credsOf("in use"), next.Add(-time.Nanosecond))
					if later == nil || later.Error() != err.Error() || !notAttempted(later) {
						t.Fatalf("attempt %d: it says %v, then %v", n+1, err, later)
					}
					jitter[delay] = true
					now = next
				}
			}
			if len(jitter) < 50 {
				t.Errorf("%d different delays", len(jitter))
			}
		})
	}
}

// TestNoMoreThanTwoFailuresInAWindow checks random sequences of accounts, APIs, overlapping attempts and changes of
// credentials and address. Another client with as many failures does not lock the account together with vzones.
func TestNoMoreThanTwoFailuresInAWindow(t *testing.T) {
	for most, limits := range map[int]LoginLimits{2: {}, 1: {Failures: 1}} {
		testFailuresInAWindow(t, limits, most)
	}
}

func testFailuresInAWindow(t *testing.T, limits LoginLimits, most int) {
	t.Helper()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, now := NewLoginThrottle(limits, nil), time.Now()
		type attempt struct {
			api        loginAPI
			creds      credentials.Credentials
			begin, end time.Time
		}
		var running []attempt
		var failed []time.Time // as counted by the vCenter, at any time during the attempt
		begun := 0
		for range 20000 {
			now = now.Add(time.Duration(r.Int64N(int64(20 * time.Second))))
			for len(running) > 0 && !running[0].end.After(now) {
				x := running[0]
				running = running[1:]
				err := []error{ErrRejected, tokenRejected, errTimedOut, &unansweredError{errors.New("EOF"), false}}[r.IntN(4)]
				if a.end(login{api: x.api, creds: x.creds}, err, x.end) == nil {
					t.Fatal("no error")
				}
				failed = append(failed, x.begin.Add(time.Duration(r.Int64N(int64(x.end.Sub(x.begin))+1))))
			}
			creds := credsOf(fmt.Sprint(r.IntN(6)))
			switch r.IntN(10) {
			case 0:
				_ = a.Offer(creds, credentials.Credentials{}, now)
			case 1:
				_ = a.Offer(creds, creds, now)
			case 2:
				a.Reset()
			default:
				api := loginAPI(r.IntN(2))
				end := now.Add(time.Duration(r.Int64N(int64(90 * time.Second))))
				if len(running) > 0 && end.Before(running[len(running)-1].end) {
					// Attempts end in order here.
					continue
				}
				if a.begin(login{api: api, creds: creds}, now) == nil {
					begun++
					running = append(running, attempt{api, creds, now, end})
				}
			}
		}
		for _, f := range failed {
			n := 0
			for _, other := range failed {
				if !other.Before(f) && other.Sub(f) < 180*time.Second {
					n++
				}
			}
			if n > most {
				t.Fatalf("seed %d: %d failures within 180 s of %v", seed, n, f)
			}
		}
		if begun < 250*most {
			t.Errorf("seed %d: %d attempts in %d s", seed, begun, 20000*10)
		}
	}
}

// TestChangesAreTriedAtOnceButForTheBound checks that only the third wrong password waits for the end of the window.
func TestChangesAreTriedAtOnceButForTheBound(t *testing.T) {
	a, now := NewLoginThrottle(LoginLimits{}, nil), time.Now()
	first := now
	_ = try(t, a, loginSOAP, credsOf("a"), now, 0, ErrRejected)
	now = now.Add(time.Second)
	_ = a.Offer(credsOf("b"), credentials.Credentials{}, now)
	_ = try(t, a, loginREST, credsOf("b"), now, 0, ErrRejected)
	now = now.Add(time.Second)
	_ = a.Offer(credsOf("c"), credentials.Credentials{}, now)
	err := a.begin(login{api: loginSOAP, creds: credsOf("c")}, now)
	if want := first.Add(180 * time.Second); !NextAttempt(err).Equal(want) || errors.Is(err, ErrRejected) || !strings.Contains(err.Error(), "could lock the account") {
		t.Errorf("next at %v, want %v: %v", NextAttempt(err), want, err)
	}
	if err := try(t, a, loginSOAP, credsOf("c"), NextAttempt(err), 0, nil); err != nil {
		t.Error(err)
	}
}

// TestWhatIsForgotten checks the effect of each event on recorded failures.
func TestWhatIsForgotten(t *testing.T) {
	a1, b := credsOf("a"), credsOf("b")
	a2, b2 := a1, b
	a2.Revision, b2.Revision = "2", "2"
	accepts := func(api loginAPI, c credentials.Credentials) func(*LoginThrottle) {
		return func(a *LoginThrottle) {
			l := login{api: api, creds: c}
			_ = a.accounts.begin(time.Now(), a, accountOf(l))
			_ = a.end(l, nil, time.Now())
		}
	}
	for name, c := range map[string]struct {
		do       func(a *LoginThrottle)
		a, b, at bool // whether a and b may be sent to SOAP, and a to REST
	}{
		"nothing":                           {func(*LoginThrottle) {}, false, false, false},
		"a replaces others":                 {func(a *LoginThrottle) { _ = a.Offer(a1, credentials.Credentials{}, time.Now()) }, true, false, true},
		"the session's b are back":          {func(a *LoginThrottle) { _ = a.Offer(b, b, time.Now()) }, true, false, true},
		"SOAP accepts a, tags still do not": {accepts(loginSOAP, a1), true, true, false},
		"SOAP accepts c, a is still in use": {accepts(loginSOAP, credsOf("c")), true, true, false},
		"a replaces c, which is in use": {func(a *LoginThrottle) {
			a.offered = credsOf("c")
			_ = a.Offer(a1, credsOf("c"), time.Now())
		}, false, false, true},
		"b is written again":               {func(a *LoginThrottle) { a.offered = b; _ = a.Offer(b2, credentials.Credentials{}, time.Now()) }, false, true, false},
		"b is written again, c is in use":  {func(a *LoginThrottle) { a.offered = b; _ = a.Offer(b2, credsOf("c"), time.Now()) }, false, true, false},
		"the session's a is written again": {func(a *LoginThrottle) { a.offered = a1; _ = a.Offer(a2, a1, time.Now()) }, true, true, true},
		"b is as it was, c is in use":      {func(a *LoginThrottle) { a.offered = b2; _ = a.Offer(b2, credsOf("c"), time.Now()) }, false, false, false},
		"tags accept a":                    {accepts(loginREST, a1), false, false, true},
		"another address":                  {(*LoginThrottle).Reset, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			a, now := NewLoginThrottle(LoginLimits{Window: time.Nanosecond}, nil), time.Now()
			_ = try(t, a, loginSOAP, a1, now, 0, ErrRejected)
			_ = try(t, a, loginSOAP, b, now.Add(time.Second), 0, ErrRejected)
			_ = try(t, a, loginREST, a1, now.Add(2*time.Second), 0, ErrRejected)
			c.do(a)
			now = now.Add(3 * time.Second)
			got := [3]bool{a.check(loginSOAP, a1, now) == nil, a.check(loginSOAP, b, now) == nil, a.check(loginREST, a1, now) == nil}
			if want := [3]bool{c.a, c.b, c.at}; got != want {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

// TestSilenceIsForgottenByOtherCredentialsOnly checks that changing the credentials there and back keeps the delay after
// an unanswered login.
func TestSilenceIsForgottenByOtherCredentialsOnly(t *testing.T) {
	a, now := NewLoginThrottle(LoginLimits{}, nil), time.Now()
	err := try(t, a, loginSOAP, credsOf("a"), now, 90*time.Second, errTimedOut)
	if !strings.Contains(err.Error(), "may have left a session") {
		t.Error(err)
	}
	now = now.Add(91 * time.Second)
	if err := a.Offer(credsOf("b"), credentials.Credentials{}, now); err != nil {
		t.Errorf("other credentials: %v", err)
	}
	if a.Offer(credsOf("a"), credentials.Credentials{}, now) == nil {
		t.Error("the same credentials are shown again at once")
	}
}

func TestOneBrokenConnectionIsNoReasonToWait(t *testing.T) {
	a, now := NewLoginThrottle(LoginLimits{}, nil), time.Now()
	broken := &unansweredError{errors.New("EOF"), false}
	if err := try(t, a, loginSOAP, credsOf("a"), now, time.Second, broken); !NextAttempt(err).IsZero() {
		t.Errorf("the first: %v", err)
	}
	now = now.Add(2 * time.Second)
	if err := try(t, a, loginSOAP, credsOf("a"), now, time.Second, broken); NextAttempt(err).Sub(now) < 2*time.Minute {
		t.Errorf("the second: %v", err)
	}
	if err := try(t, NewLoginThrottle(LoginLimits{}, nil), loginSOAP, credsOf("a"), now, time.Second, errors.New("connection refused")); err == nil || !NextAttempt(err).IsZero() {
		t.Errorf("what was never sent: %v", err)
	}
}

func TestFailuresAreBounded(t *testing.T) {
	a, now := NewLoginThrottle(LoginLimits{}, nil), time.Now()
	for i := range 100 {
		now = now.Add(time.Hour)
		if err := try(t, a, loginSOAP, credsOf(fmt.Sprint(i)), now, 0, ErrRejected); strings.Contains(err.Error(), "made-up") {
			t.Fatal(err)
		}
	}
	if n := len(a.accounts.records[a].failed); len(a.failures) > maxFailureRecords || n > 3 || len(a.accounts.records) > 3 {
		t.Errorf("%d failures and %d times of %d accounts are kept", len(a.failures), n, len(a.accounts.records))
	}
}

// TestWhetherCredentialsAreRejected checks the time from the first rejection at either API until credentials are accepted
// there or others are configured. Unanswered logins have no effect.
func TestWhetherCredentialsAreRejected(t *testing.T) {
	const rejected, tagsReject, accepted, othersAccepted, unanswered, configuredAgain = 'r', 't', 'a', 'o', 'u', 'c'
	for name, c := range map[string]struct {
		events []rune // an hour apart
		want   bool
	}{
		"at first":                               {nil, false},
		"rejected":                               {[]rune{rejected}, true},
		"by tags":                                {[]rune{tagsReject}, true},
		"unanswered":                             {[]rune{unanswered}, false},
		"accepted since":                         {[]rune{rejected, accepted}, false},
		"others accepted":                        {[]rune{rejected, othersAccepted}, false},
		"by tags still":                          {[]rune{tagsReject, accepted}, true},
		"by tags, and others accepted":           {[]rune{tagsReject, othersAccepted}, false},
		"unanswered since":                       {[]rune{rejected, unanswered}, true},
		"unanswered since, and configured again": {[]rune{rejected, unanswered, configuredAgain}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, now := NewLoginThrottle(LoginLimits{}, nil), time.Now()
			for i, event := range c.events {
				at, api, creds := now.Add(time.Duration(i)*time.Hour), loginSOAP, credsOf("a")
				var err error
				switch event {
				case configuredAgain:
					_ = a.Offer(creds, credentials.Credentials{}, now)
					continue
				case tagsReject:
					api, err = loginREST, ErrRejected
				case rejected:
					err = ErrRejected
				case unanswered:
					err = errTimedOut
				case othersAccepted:
					creds = credsOf("b")
				}
				_ = try(t, a, api, creds, at, 0, err)
			}
			if got := a.Rejected(true); got != c.want {
				t.Errorf("Rejected after these attempts: %t, want %t", got, c.want)
			}
			if name == "by tags still" && a.Rejected(false) {
				t.Error("by an API that nobody logs in to")
			}
		})
	}
}

// TestLoginsQueue checks that a login waits for another login of its account at any entry, and does not send the
// credentials that the other login was rejected for. Without Queue it fails at once.
func TestLoginsQueue(t *testing.T) {
	for name, c := range map[string]struct {
		limits LoginLimits
		first  error
		most   time.Duration
		served bool
	}{
		"accepted":  {LoginLimits{Failures: 1, Queue: true}, nil, time.Minute, true},
		"rejected":  {LoginLimits{Failures: 1, Queue: true}, ErrRejected, time.Minute, false},
		"at once":   {LoginLimits{Failures: 1}, nil, time.Minute, false},
		"too long":  {LoginLimits{Failures: 1, Queue: true}, nil, time.Second, false},
		"both pass": {LoginLimits{Failures: 2, Queue: true}, ErrRejected, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				accounts := NewAccounts(c.limits)
				a, b := NewLoginThrottle(c.limits, accounts), NewLoginThrottle(c.limits, accounts)
				l := login{loginSOAP, "vc.example.com:443", credsOf("a")}
				if err := a.beginQueued(t.Context(), l, time.Minute); err != nil {
					t.Fatal(err)
				}
				go func() {
					time.Sleep(10 * time.Second)
					_ = a.end(l, c.first, time.Now())
				}()
				err := b.beginQueued(t.Context(), l, c.most)
				if (err == nil) != c.served || err != nil && !notAttempted(err) {
					t.Errorf("the other one: %v", err)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

func TestLockouts(t *testing.T) {
	began := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	one, other, elsewhere := account{"10.0.0.1:443", "a"}, account{"10.0.0.1:443", "b"}, account{"10.0.0.2:443", "a"}
	rejected := fmt.Errorf("logging in: %w", ErrRejected)
	a := NewAccounts(LoginLimits{})
	login := func(of account, err error, now time.Time) error {
		if rejected := a.begin(now, of); rejected != nil {
			return rejected
		}
		a.end(err, now, of)
		return nil
	}
	for i, c := range []struct {
		of    account
		at    int
		err   error
		until int // 0: it may be tried
	}{
		{one, 0, rejected, 0},
		{one, 10, nil, 0},
		{one, 20, errors.New("refused connection"), 0},
		{one, 30, rejected, 0},
		{one, 31, nil, 180}, // by whatever entry of the configuration
		{other, 31, rejected, 0},
		{elsewhere, 31, nil, 0},
		{one, 179, nil, 180},
		{one, 180, &unansweredError{error: rejected}, 0},
		{one, 181, nil, 210},
		{one, 400, nil, 0},
	} {
		err := login(c.of, c.err, at(c.at))
		var p *postponedError
		switch {
		case c.until == 0 && err != nil:
			t.Errorf("%d: is not tried: %v", i, err)
		case c.until != 0 && (!errors.As(err, &p) || !p.nextAttempt.Equal(at(c.until))):
			t.Errorf("%d: got %v, want it at %v", i, err, at(c.until))
		}
	}
	if len(a.records) != 1 {
		t.Errorf("%d accounts are remembered", len(a.records))
	}
	for range 2 {
		if err := a.begin(at(500), elsewhere); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.begin(at(500), elsewhere); !errors.As(err, new(*postponedError)) || !NextAttempt(err).IsZero() {
		t.Errorf("a third at the same time: %v", err)
	}
}
