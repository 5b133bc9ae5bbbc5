// Package preflight connects to a vCenter step by step and says which step fails: the name, the
// connection, the proxy, TLS, the certificate, and whether a vCenter answers.
//
// It shows no credentials, so it may be called at any time, and opens no session. Connections go the
// way of package session, which owns proxy and trust.
package preflight

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"

	"golang.org/x/sync/errgroup"

	"vzones/config"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

// Run connects to vCenters, all side by side, each for at most a time. The reports are in the order
// of the vCenters.
func Run(ctx context.Context, vcenters []config.VCenter, timeout time.Duration) []Report {
	reports := make([]Report, len(vcenters))
	var g errgroup.Group
	for i := range vcenters {
		g.Go(func() error {
			reports[i] = connect(ctx, &vcenters[i], timeout)
			return nil
		})
	}
	_ = g.Wait()
	return reports
}

// connect makes one request, of what a vCenter shows to everybody.
func connect(ctx context.Context, cfg *config.VCenter, timeout time.Duration) Report {
	r := Report{VCenter: cfg.Name}
	way, err := session.NewUnauthenticated(cfg, timeout)
	if err != nil {
		r.Failed, r.Err = Settings, faults.Printable{Err: err}
		return r
	}
	defer way.Client.CloseIdleConnections()
	r.Host = way.URL.Host
	if way.Proxy != nil {
		r.Proxy = way.Proxy.Host
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var came progress
	ctx = httptrace.WithClientTrace(ctx, came.trace())
	at := *way.URL
	at.Path += "/vimServiceVersions.xml"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		r.Failed, r.Err = Settings, faults.Printable{Err: err}
		return r
	}
	res, err := way.Client.Do(req)
	seen := came.now()
	r.Certificate = seen.certificate
	if err == nil {
		r.APIVersion, err = session.APIVersion(res)
		_ = res.Body.Close()
		seen.answered = true
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = topology.Errorf(context.DeadlineExceeded, "no answer within %v", timeout)
	}
	if err != nil {
		r.Failed, r.Err = seen.failed(err, r.Proxy != ""), faults.Printable{Err: err}
		if untrusted := (*session.UntrustedError)(nil); errors.As(err, &untrusted) {
			r.Certificate = untrusted.Certificate
		}
	}
	return r
}
