package serving

import (
	"crypto/tls"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// TestFailuresAtATime: a client is served again within a minute after many failures, also if the API server was
// asked about all of them at a time.
func TestFailuresAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := false
		limited := limitFailures(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			if good {
				return nil, true, nil
			}
			time.Sleep(10 * time.Second)
			return nil, false, errors.New("the API server does not answer")
		}))
		r := &http.Request{RemoteAddr: "192.0.2.1:1", Header: http.Header{"Authorization": {"Bearer made-up"}}, TLS: &tls.ConnectionState{}}
		var all sync.WaitGroup
		for range 5000 {
			all.Go(func() { _, _, _ = limited.AuthenticateRequest(r) })
		}
		all.Wait()
		good = true
		time.Sleep(time.Minute)
		if _, ok, _ := limited.AuthenticateRequest(r); !ok {
			t.Error("still refused")
		}
	})
}
