package tags

import (
	"context"
	"fmt"

	"vzones/vcenter/credentials"
	"vzones/vcenter/rest"
	"vzones/vcenter/session"
)

// Tagging is the Session of the tagging API that belongs to a session with the vCenter.
type Tagging struct{ rest *session.REST }

// NewTagging returns the tagging API of a session. It contacts nothing.
func NewTagging(r *session.REST) Tagging { return Tagging{r} }

var _ Session = Tagging{}

// Credentials returns those of the session.
func (t Tagging) Credentials() credentials.Credentials { return t.rest.Credentials() }

// Wait waits for a login that is under way, if there is one.
func (t Tagging) Wait() error { return t.rest.Wait() }

// With calls f with the tagging API, after logging in where that has not happened yet, the server has
// forgotten it or nothing useful came through the session for long.
func (t Tagging) With(ctx context.Context, f func(Service) error) error {
	host := t.rest.Host()
	client, err := t.rest.Client(ctx, "tagging: log in")
	if err != nil {
		return fmt.Errorf("logging in to the tagging API of %s: %w", host, err)
	}
	err = f(NewClient(client, t.rest.Do))
	isUnknown := rest.ClassOf(err) == rest.Unauthenticated
	switch {
	case isUnknown && t.rest.Cloned():
		return fmt.Errorf("the tagging API of %s does not know the session that was cloned, as a vCenter before 8.0 U3 does not: %w", host, err)
	case isUnknown && t.rest.Served(), t.rest.RenewalDue(err):
		t.rest.Forget(ctx)
		return t.With(ctx, f)
	}
	return err
}
