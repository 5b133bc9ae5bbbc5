package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/soap"
)

const (
	sessionHeader = "vmware-api-session-id"
	// drained is how much of an answer that is not used is read, so that its
	// connection serves again.
	drained = 64 << 10
)

// A Client is a session of the API. Its methods may be called concurrently
// once it is logged in.
type Client struct {
	http    *soap.Client
	session string
	// legacy reports whether resources are asked for below /rest, at first where the session was opened;
	// found whether the vCenter has answered a request for one there.
	legacy, found atomic.Bool
	// home is the root where the session was opened.
	home root
}

// A root is where the API begins: vCenters before 7.0 U2 have resources below /rest only,
// and later ones may have them below /api only.
type root bool

const (
	api  root = false
	rest root = true
)

// NewClient returns a client that goes the way of another, trusts the same and has the same cookies. It
// contacts nothing.
func NewClient(c *soap.Client) *Client {
	own := c.NewServiceClient("/api", "")
	own.Jar = c.Jar
	return &Client{http: own}
}

// Login opens a session, below /rest first if legacy is set and below /api first otherwise. Only if
// nobody has looked at the password there, since nothing serves the path, it is shown at the other
// root. Sign adds to a request what proves who asks.
func (c *Client) Login(ctx context.Context, sign func(*http.Request) error, legacy bool) error {
	login := Request{Method: http.MethodPost, Resource: resourceSession, prepare: func(req *http.Request) error {
		req.Header.Set("vmware-use-header-authn", "true") // no cookie
		return sign(req)
	}}
	c.home = root(legacy)
	err := c.send(ctx, c.home, &login, &c.session)
	if isPathMissing(err, &login) {
		if other := c.send(ctx, !c.home, &login, &c.session); !isPathMissing(other, &login) {
			c.home = !c.home
			err = other
		}
	}
	c.legacy.Store(bool(c.home))
	if err == nil && c.session == "" {
		err = errors.New("the answer to the login has no session ID")
	}
	return err
}

// Join uses a session that was opened otherwise, which is not the client's to end.
func (c *Client) Join(session string) { c.session = session }

// Logout ends the session that Login has opened.
func (c *Client) Logout(ctx context.Context) error {
	return c.send(ctx, c.home, &Request{Method: http.MethodDelete, Resource: resourceSession}, nil)
}

const resourceSession = "session"

// A Request is one that both roots know, each by another path.
type Request struct {
	Method string
	// Resource is the path below that of the infrastructure services, ID and Action are
	// appended to it; they may be empty.
	Resource, ID, Action string
	// LegacyID is an ID that is in the path at /rest only.
	LegacyID string
	// Body is encoded as JSON, unless it is nil.
	Body any
	// NotNull has an answer refused that is null.
	NotNull bool

	prepare func(*http.Request) error
}

func (r *Request) address(at root) (path, query string) {
	switch {
	case at == rest:
		path = "/rest/com/vmware/cis/" + r.Resource
	case r.Resource == resourceSession:
		path = "/api/" + r.Resource
	default:
		path = "/api/cis/" + r.Resource
	}
	if id := cmp.Or(r.ID, r.LegacyID); id != "" && at == rest {
		path += "/id:" + id
	} else if r.ID != "" {
		path += "/" + r.ID
	}
	if r.Action != "" && at == rest {
		query = "~action=" + r.Action
	} else if r.Action != "" {
		query = "action=" + r.Action
	}
	return path, query
}

// Do sends a request and decodes the answer, unless that is nil. A failure that the server
// answers with is a *StatusError.
//
// Until the vCenter has answered one for a resource, the other root is tried if nothing serves the path
// below the one, and is stayed with if it serves the path.
func (c *Client) Do(ctx context.Context, r *Request, answer any) error {
	at := root(c.legacy.Load())
	err := c.send(ctx, at, r, answer)
	if !c.found.Load() && isPathMissing(err, r) {
		if other := c.send(ctx, !at, r, answer); !isPathMissing(other, r) {
			if class := ClassOf(other); other == nil || class == Denied || class == NotFound {
				c.legacy.Store(bool(!at))
			}
			err = other
		}
	}
	if err == nil {
		c.found.Store(true)
	}
	return err
}

// isPathMissing reports whether an answer says that nothing serves the path. A session that is
// opened is no object that could be missing.
func isPathMissing(err error, r *Request) bool {
	class := ClassOf(err)
	return class == NoSuchPath || class == NotFound && r.Resource == resourceSession
}

func (c *Client) send(ctx context.Context, at root, r *Request, answer any) error {
	var body io.Reader
	if r.Body != nil {
		content, err := json.Marshal(r.Body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(content)
	}
	u := *c.http.URL()
	u.Path, u.RawQuery = r.address(at)
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if r.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.session != "" {
		req.Header.Set(sessionHeader, c.session)
	}
	if r.prepare != nil {
		if err := r.prepare(req); err != nil {
			return err
		}
	}
	return c.http.Do(ctx, req, func(res *http.Response) error {
		defer func() { _, _ = io.CopyN(io.Discard, res.Body, drained) }()
		return read(at, res, answer, r.NotNull)
	})
}

// read parses an answer. At /rest values are in an envelope.
func read(at root, res *http.Response, answer any, notNull bool) error {
	if res.StatusCode < http.StatusOK || res.StatusCode >= http.StatusMultipleChoices {
		return newStatusError(res)
	}
	if answer == nil {
		return nil
	}
	var envelope struct {
		Value json.RawMessage `json:"value"`
	}
	var into any = &envelope.Value
	if at == rest {
		into = &envelope
	}
	err := json.NewDecoder(res.Body).Decode(into)
	if err == nil {
		err = json.Unmarshal(envelope.Value, answer) // a syntax error where there is no value
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &mismatch) || err == nil && notNull && string(envelope.Value) == "null" {
		// What the answer holds may be the page of a proxy.
		return &unusable{requestOf(res.Request)}
	}
	if err != nil {
		return fmt.Errorf("%s: reading the answer: %w", requestOf(res.Request), err)
	}
	return nil
}
