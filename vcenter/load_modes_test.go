package vcenter

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/test/fleet"
)

func asItIs(*testing.T, *fleet.VCenter) {}

func loadModes() []loadMode {
	return []loadMode{
		{name: "when the daemon starts", start: asItIs, once: fleet.Load{Requests: 40, Logins: 2, TagReads: 12}, minute: fleet.Load{Requests: 12, TagReads: 4}},
		{
			name: "at rest", faster: 5, opts: func(o *Options) { o.PollTime, o.TagRefresh = 5*time.Second, 6*time.Second },
			minute: fleet.Load{Requests: 6, TagReads: 3},
		},
		{
			name: "accepts connections and answers nothing", faster: 5, opts: func(o *Options) { o.PollTime, o.Timeout, o.RetryMax = 5*time.Second, 3*time.Second, 2*time.Second },
			goes: begins((*fleet.VCenter).Hang), once: fleet.Load{Requests: 4}, minute: fleet.Load{Requests: 6},
		},
		{name: "breaks each connection in the middle of an answer", goes: begins((*fleet.VCenter).Drop), once: fleet.Load{Requests: 20}, minute: fleet.Load{Requests: 60, TagReads: 12}},
		{name: "rejects the credentials", start: func(_ *testing.T, v *fleet.VCenter) { v.RejectPassword() }, once: fleet.Load{Requests: 4, Logins: 1}, minute: fleet.Load{}},
		{
			name: "does not let the account log in", start: func(_ *testing.T, v *fleet.VCenter) { v.Fault("Login", new(types.NoPermission)) },
			once: fleet.Load{Requests: 4, Logins: 1},
		},
		{
			name: "answers no login in time", start: func(_ *testing.T, v *fleet.VCenter) { v.SlowLogin(time.Minute) },
			opts: func(o *Options) { o.LoginTimeout = 2 * time.Second },
			once: fleet.Load{Requests: 4, Logins: 1},
		},
		{
			name: "ends all sessions three times a second", goes: every(300*time.Millisecond, func(v *fleet.VCenter, _ int) error { v.EndSessions(); return nil }),
			once: fleet.Load{Requests: 120, Logins: 10, TagReads: 40}, minute: fleet.Load{Requests: 130, Logins: 12, TagReads: 40},
		},
		{
			name: "answers each long poll with a fault", goes: begins(func(v *fleet.VCenter) { v.Fault("WaitForUpdatesEx", new(types.InvalidState)) }),
			once: fleet.Load{Requests: 80, TagReads: 10}, minute: fleet.Load{Requests: 200, TagReads: 12},
		},
		{
			name: "forgets collectors and views three times a second, while the session lives on", goes: every(300*time.Millisecond, func(v *fleet.VCenter, _ int) error { v.ForgetObjects(); return nil }),
			once: fleet.Load{Requests: 120, Logins: 10, TagReads: 40}, minute: fleet.Load{Requests: 130, Logins: 12, TagReads: 40},
		},
		{
			name: "rejects logins to the tagging service, and not those to SOAP", start: func(_ *testing.T, v *fleet.VCenter) { v.RejectRESTLogin() },
			once: fleet.Load{Requests: 40, Logins: 2, TagReads: 12}, minute: fleet.Load{Requests: 12, TagReads: 4},
		},
		{name: "has a tagging service that answers nothing", start: func(_ *testing.T, v *fleet.VCenter) { v.HangTagging() }, once: fleet.Load{Requests: 40, Logins: 2, TagReads: 12}, minute: fleet.Load{Requests: 12, TagReads: 6}},
		{name: "has a tagging service that throttles (429, then 503)", start: func(_ *testing.T, v *fleet.VCenter) { v.ThrottleTagging() }, once: fleet.Load{Requests: 40, Logins: 8, TagReads: 12}, minute: fleet.Load{Requests: 12, Logins: 4, TagReads: 6}},
		{name: "has a tagging service that is starting (503)", start: func(_ *testing.T, v *fleet.VCenter) { v.StartTagging() }, once: fleet.Load{Requests: 40, Logins: 8, TagReads: 12}, minute: fleet.Load{Requests: 12, Logins: 4, TagReads: 6}},
		{
			name: "forbids all tags (403)", start: func(_ *testing.T, v *fleet.VCenter) {
				v.FaultREST("POST /com/vmware/cis/tagging/*", http.StatusForbidden)
			},
			once: fleet.Load{Requests: 80, Logins: 2, TagReads: 64}, minute: fleet.Load{Requests: 30, TagReads: 12},
		},
		{
			name: "forbids the tags of three objects", start: func(t *testing.T, v *fleet.VCenter) {
				for _, object := range []string{"/", "/prod", "c1-host-1"} {
					if err := v.DenyRead(object); err != nil {
						t.Error(err)
					}
				}
			},
			once: fleet.Load{Requests: 60, Logins: 2, TagReads: 40}, minute: fleet.Load{Requests: 12, TagReads: 4},
		},
		{
			name: "moves a Node's machine ten times a second", goes: every(100*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.MoveVM("n1", []string{"c2-host-1", "c1-host-1"}[n%2])
			}),
			once: fleet.Load{Requests: 30, TagReads: 20}, minute: fleet.Load{Requests: 90, TagReads: 20},
		},
		{
			name: "changes the addresses of a Node's machine fifty times a second", goes: every(20*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.SetIPs("n1", fmt.Sprintf("10.0.0.%d", 1+n%250))
			}),
			once: fleet.Load{Requests: 20, TagReads: 4}, minute: fleet.Load{Requests: 70, TagReads: 4},
		},
		{
			name: "clones ten machines a second", goes: every(100*time.Millisecond, func(v *fleet.VCenter, n int) error {
				if n >= 3 {
					if err := v.SetReadable(fmt.Sprintf("clone-%d", n-3), true); err != nil {
						return err
					}
				}
				return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("clone-%d", n), Unreadable: true})
			}),
			once: fleet.Load{Requests: 20, TagReads: 4}, minute: fleet.Load{Requests: 90, TagReads: 4},
		},
		{
			name: "creates a hundred machines a second", goes: every(10*time.Millisecond, func(v *fleet.VCenter, n int) error {
				return v.Create("dc1", fleet.VMSpec{Name: fmt.Sprintf("other-%d", n)})
			}),
			once: fleet.Load{Requests: 30, TagReads: 4}, minute: fleet.Load{Requests: 90, TagReads: 4},
		},
		{
			name: "switches machines of others off and on a hundred times a second", goes: every(10*time.Millisecond, func(v *fleet.VCenter, n int) error {
				if n%2 == 0 {
					return v.PowerOff("n3")
				}
				return errors.Join(v.PowerOn("n3"), v.SetIPs("n3", fmt.Sprintf("10.0.0.%d", 1+n%250)))
			}),
			minute: fleet.Load{Requests: 12, TagReads: 4},
		},
		{
			name: "refuses list views as a whole", start: func(_ *testing.T, v *fleet.VCenter) { v.FaultListing(new(types.NoPermission)) },
			once: fleet.Load{Requests: 120, Logins: 2, TagReads: 12}, minute: fleet.Load{Requests: 60, TagReads: 12},
		},
		{
			name: "answers each long poll with nothing under HTTP 200", start: func(t *testing.T, v *fleet.VCenter) {
				if err := v.AnswerOddly("WaitForUpdatesEx", "empty"); err != nil {
					t.Error(err)
				}
			},
			once: fleet.Load{Requests: 80, Logins: 2, TagReads: 10}, minute: fleet.Load{Requests: 240, TagReads: 12},
		},
		{
			name: "answers each long poll at once with no news", start: func(t *testing.T, v *fleet.VCenter) {
				if err := v.AnswerOddly("WaitForUpdatesEx", fleet.OddNothing); err != nil {
					t.Error(err)
				}
			},
			once: fleet.Load{Requests: 40, Logins: 2, TagReads: 12}, minute: fleet.Load{Requests: 80, TagReads: 4},
		},
	}
}
