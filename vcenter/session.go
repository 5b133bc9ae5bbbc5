package vcenter

import (
	"context"
	"errors"
	"net/http"
	"strings"

	vim "github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/sts"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
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

	// leftovers are objects of a watch that has ended, to be destroyed before
	// the next begins. The server destroys them with the session.
	leftovers []leftover

	// rest belongs to the goroutine that reads tags, as does entering, the login to
	// the tagging API that is under way. Both are nil until then.
	rest     *rest.Client
	entering *entering
}

// isStatus looks for an HTTP status in the whole chain of an error, which
// govmomi's own function does not.
func isStatus(err error, code int) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if rest.IsStatusError(err, code) {
			return true
		}
	}
	return false
}

// answered says whether an error of the REST API is the server's own word.
func answered(err error) bool {
	if strings.Contains(err.Error(), "400 Bad Request") {
		return true
	}
	for code := http.StatusUnauthorized; code < 600; code++ {
		if isStatus(err, code) {
			return true
		}
	}
	return false
}

// logout ends both sessions, which are one where it was cloned. The context
// bounds it.
func (s *session) logout(ctx context.Context) error {
	var errs []error
	if s.rest != nil && !s.shared() {
		if err := s.rest.Logout(ctx); err != nil && !isStatus(err, http.StatusUnauthorized) {
			errs = append(errs, err)
		}
	}
	if err := vim.NewManager(s.vim).Logout(ctx); err != nil && !lost(err) {
		errs = append(errs, err)
	}
	s.soap.CloseIdleConnections()
	return errors.Join(errs...)
}
