package vcenter

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"vzones/vcenter/tags"
)

// session is one login: a SOAP session and, once tags are read, a REST one.
// The SOAP client may be used concurrently.
type session struct {
	soap  *soap.Client
	trust *trust
	vim   *vim25.Client
	creds Credentials
	calls *calls

	// tokens is where tokens for a certificate come from. It is nil for other
	// credentials.
	tokens *sts.Client

	// unpaged reports whether the account may not read further pages of properties.
	unpaged atomic.Bool

	// hosts is how host groups and fault domains are read.
	hosts atomic.Int32

	// leftovers are objects of a watch, to be destroyed before the next begins. The
	// server destroys them with the session.
	leftovers leftovers

	// rest belongs to the goroutine that reads tags, as does entering, the login to
	// the tagging API that is under way. Both are nil until then.
	rest     *tags.Client
	entering *entering
}

// logout ends both sessions, which are one where it was cloned. The context
// bounds it. Neither waits for the other: they are ended by services of their own, of
// which one may hang.
func (s *session) logout(ctx context.Context) error {
	var soap, rest error
	var g sync.WaitGroup
	if s.rest != nil && !s.shared() {
		g.Go(func() {
			if rest = s.rest.Logout(ctx); tags.HasStatus(rest, http.StatusUnauthorized) {
				rest = nil
			}
		})
	}
	if soap = vim.NewManager(s.vim).Logout(ctx); lost(soap) {
		soap = nil
	}
	g.Wait()
	s.soap.CloseIdleConnections()
	return errors.Join(soap, rest)
}
