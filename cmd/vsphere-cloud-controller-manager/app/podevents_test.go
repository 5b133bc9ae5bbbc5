package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"vzones/config"
	"vzones/vcenter"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
	"vzones/vcenter/session"
)

// TestPodRecorder: Events are on the Pod in the environment, and there are none without a name.
func TestPodRecorder(t *testing.T) {
	for _, name := range []string{"ccm-1", ""} {
		t.Setenv("POD_NAME", name)
		t.Setenv("POD_NAMESPACE", "kube-system")
		t.Setenv("POD_UID", "u")
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset()
			r, end := newPodRecorder(t.Context(), client)
			r.record(v1.EventTypeNormal, "ConfigurationApplied", "It is in force.")
			synctest.Wait()
			end()
			var about []v1.ObjectReference
			for _, a := range client.Actions() {
				if create, ok := a.(clienttesting.CreateAction); ok {
					about = append(about, create.GetObject().(*v1.Event).InvolvedObject)
				}
			}
			want := v1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "kube-system", Name: name, UID: "u"}
			if (len(about) == 1) != (name != "") || len(about) == 1 && about[0] != want {
				t.Errorf("with POD_NAME=%q the Events are about %+v, want %+v", name, about, want)
			}
		})
	}
}

// healthWith returns the health of a vCenter that was read.
func healthWith(err error, rejected bool, incomplete error) []vcenter.Health {
	return []vcenter.Health{{State: inventory.State{VCenter: "east", Err: err, Cause: faults.CauseOf(err), Snapshot: &inventory.Snapshot{Incomplete: incomplete, VisibleDatacenters: []string{"/dc1", "/dc2"}}}, Rejected: rejected}}
}

// TestVCenterEvents: a problem is recorded after it has lasted, every hour, and at its end.
func TestVCenterEvents(t *testing.T) {
	down := errors.New(`vCenter "east": no answer within 15s`)
	rejected := errors.New(`vCenter "east": connection refused`)
	const (
		latent   = `Warning CredentialsRejected vCenter "east" rejects the configured credentials; vzones still reads it in the open session, until that ends or the daemon restarts: correct the credentials`
		mistyped = "; the account sees /dc1, /dc2; until it is found, no Node of any vCenter is deleted"
		unread   = outageEffect + ": check that the vCenter runs and that the cluster can reach it"
	)
	gone := vcenterGone(t)
	missing := errors.New(`vCenter "east": datacenter "dcx" is not there`)
	for name, c := range map[string]struct {
		health func(after time.Duration) []vcenter.Health
		want   []string
	}{
		"healthy": {func(time.Duration) []vcenter.Health { return healthWith(nil, false, nil) }, nil},
		"short": {func(after time.Duration) []vcenter.Health {
			if after < 25*time.Second {
				return healthWith(down, false, nil)
			}
			return healthWith(nil, false, nil)
		}, nil},
		"two hours of outage in two wordings": {func(after time.Duration) []vcenter.Health {
			switch {
			case after >= 2*time.Hour:
				return healthWith(nil, false, nil)
			case int(after.Minutes())%2 == 0:
				return healthWith(down, false, nil)
			}
			return healthWith(rejected, false, nil)
		}, []string{
			`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread,
			`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread,
			`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread,
			`Normal VCenterRecovered vCenter "east" has recovered from VCenterUnreachable after 1h59m55s`,
		}},
		"a password that was changed": {func(after time.Duration) []vcenter.Health {
			return healthWith(nil, after < 10*time.Minute, nil)
		}, []string{latent, `Normal VCenterRecovered vCenter "east" has recovered from CredentialsRejected after 9m55s`}},
		"credentials that are gone, then there is no session, then they are back": {func(after time.Duration) []vcenter.Health {
			all := healthWith(nil, false, nil)
			if after < 20*time.Minute {
				all[0].CredentialsErr = gone
			}
			if after >= 10*time.Minute && after < 20*time.Minute {
				all[0].Err = gone
				all[0].Cause = faults.CauseOf(gone)
			}
			return all
		}, []string{
			`Warning CredentialsMissing vCenter "east": credentials: no such Secret; vzones still reads it in the open session, until that ends or the daemon restarts: restore the credentials`,
			`Warning CredentialsMissing vCenter "east": credentials: no such Secret; ` + outageEffect + `: restore the credentials`,
			`Normal VCenterRecovered vCenter "east" has recovered from CredentialsMissing after 19m55s`,
		}},
		"rejected, without a session": {func(after time.Duration) []vcenter.Health {
			if after > time.Minute {
				// It is no longer configured.
				return nil
			}
			return healthWith(fmt.Errorf(`vCenter "east": %w`, session.ErrRejected), true, nil)
		}, []string{`Warning CredentialsRejected vCenter "east": the user name or password is rejected; ` + outageEffect + ": correct the credentials"}},
		"an outage that becomes another one": {func(after time.Duration) []vcenter.Health {
			switch {
			case after < 10*time.Minute:
				return healthWith(down, true, nil)
			case after < 20*time.Minute:
				return healthWith(fmt.Errorf(`vCenter "east": %w`, session.ErrRejected), true, nil)
			}
			return healthWith(nil, false, nil)
		}, []string{
			`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread,
			`Warning CredentialsRejected vCenter "east": the user name or password is rejected; ` + outageEffect + ": correct the credentials",
			`Normal VCenterRecovered vCenter "east" has recovered from VCenterUnreachable after 19m55s`,
			`Normal VCenterRecovered vCenter "east" has recovered from CredentialsRejected after 10m0s`,
		}},
		"an outage while a password is wrong": {func(after time.Duration) []vcenter.Health {
			if after < 10*time.Minute {
				return healthWith(down, true, nil)
			}
			return healthWith(nil, after < 20*time.Minute, nil)
		}, []string{
			`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread,
			`Normal VCenterRecovered vCenter "east" has recovered from VCenterUnreachable after 9m55s`,
			latent,
			`Normal VCenterRecovered vCenter "east" has recovered from CredentialsRejected after 10m0s`,
		}},
		"another address": {func(after time.Duration) []vcenter.Health {
			all := healthWith(down, false, nil)
			if after > 10*time.Minute {
				all = healthWith(nil, false, nil)
				all[0].Address = "other"
			}
			return all
		}, []string{`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread}},
		"not read after another configuration": {func(after time.Duration) []vcenter.Health {
			all := healthWith(down, false, nil)
			switch {
			case after > 20*time.Minute:
				all = healthWith(nil, false, nil)
			case after > 10*time.Minute:
				all = healthWith(nil, false, nil)
				all[0].Snapshot = nil
			}
			return all
		}, []string{
			`Warning VCenterUnreachable vCenter "east": no answer within 15s; ` + unread,
			`Normal VCenterRecovered vCenter "east" has recovered from VCenterUnreachable after 20m0s`,
		}},
		"tags alone": {func(after time.Duration) []vcenter.Health {
			all := healthWith(nil, after < 10*time.Minute, nil)
			all[0].Tags = vcenter.TagsFailed
			return all
		}, []string{
			`Warning CredentialsRejected vCenter "east": the tagging API rejects the credentials; new Nodes that need tags stay uninitialized, and initialized Nodes keep their labels: correct the credentials`,
			`Normal VCenterRecovered vCenter "east" has recovered from CredentialsRejected after 9m55s`,
		}},
		"a datacenter, then another": {func(after time.Duration) []vcenter.Health {
			if after < 10*time.Minute {
				return healthWith(nil, false, missing)
			}
			return healthWith(nil, false, errors.New("another"))
		}, []string{
			"Warning DatacenterNotFound " + missing.Error() + mistyped, "Warning DatacenterNotFound another" + mistyped,
			"Warning DatacenterNotFound another" + mistyped, "Warning DatacenterNotFound another" + mistyped,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour+time.Minute)
				defer cancel()
				began := time.Now()
				var got []string
				e := &vcenterEvents{
					health: func() []vcenter.Health { return c.health(time.Since(began)) },
					record: func(eventType, reason, message string) { got = append(got, eventType+" "+reason+" "+message) },
				}
				if err := e.run(ctx); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("got %q\nwant %q", got, c.want)
				}
			})
		})
	}
}

// vcenterGone returns the error of a vCenter with missing credentials.
func vcenterGone(t *testing.T) error {
	t.Helper()
	f := vcenter.NewFleet([]config.VCenter{{Name: "east", Server: "127.0.0.1", Port: 1}}, func(context.Context, *config.VCenter) (vcenter.Credentials, error) {
		return vcenter.Credentials{}, errors.New("no such Secret")
	}, vcenter.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changed := f.Subscribe()
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	for range changed {
		if h := f.Health(); h[0].Err != nil && h[0].CredentialsErr != nil {
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			return h[0].Err
		}
	}
	return nil
}
