package session

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/config"
	"vzones/vcenter/vcentertest"
)

// TestRenewals checks the times of renewals during eight hours of errors: after 2 minutes, then with delays that double
// up to 30 minutes. A useful answer resets the delay.
func TestRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEndpoint(&config.VCenter{}, Options{Throttle: NewLoginThrottle(LoginLimits{}, nil)})
		fault := fmt.Errorf("reading: %w", vcentertest.SOAPFault(types.SystemError{}))
		renewals := func(err error) (pauses []time.Duration) {
			last := time.Now()
			for began := time.Now(); time.Since(began) < 8*time.Hour; time.Sleep(time.Second) {
				if e.RenewalDue(err) {
					pauses = append(pauses, time.Since(last))
					last = time.Now()
				}
			}
			return pauses
		}
		for range 2 {
			for i, pause := range renewals(fault) {
				want := min(2*time.Minute<<min(i, 4), 25*time.Minute)
				if pause < want || pause > want*6/5+time.Second {
					t.Errorf("replaced for the %d. time after %v, want %v", i+1, pause, want)
				}
			}
			e.RecordUseful()
		}
		for name, c := range map[string]struct {
			err error
			due bool
		}{
			"401": {errors.New("401 Unauthorized"), true}, "403": {errors.New("403 Forbidden"), true}, "503": {errors.New("503 Service Unavailable"), false},
			"429": {errors.New("429 Too Many Requests"), false}, "no answer": {errors.New("no answer within 15s"), false},
		} {
			if due := len(renewals(c.err)) > 0; due != c.due {
				t.Errorf("%s: replaced is %v", name, due)
			}
			e.RecordUseful()
		}
	})
}
