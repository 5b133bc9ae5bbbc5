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
	// maxDrain bounds the read of an unused body, so that the connection is reused.
	maxDrain = 64 << 10
)

// A Client is one session. After Login it is safe for concurrent use.
type Client struct {
	http    *soap.Client
	session string
	// legacy selects the root of requests, initially loginRoot. confirmed is set once a response
	// has shown that the root exists.
	legacy, confirmed atomic.Bool
	loginRoot         root
}

// A root is a path prefix. vCenters before 7.0 U2 have resources only below /rest, later vCenters
// perhaps only below /api.
type root bool

const (
	api  root = false
	rest root = true
)

// NewClient returns a client with the transport, trust and cookies of a SOAP client.
func NewClient(c *soap.Client) *Client {
	client := c.NewServiceClient("/api", "")
	client.Jar = c.Jar
	return &Client{http: client}
}

// Login opens a session below /rest if legacy is set, otherwise below /api. It tries the second root
// only if the first does not exist, so that the server never checks a password twice. sign adds the
// credentials.
func (c *Client) Login(ctx context.Context, sign func(*http.Request) error, legacy bool) error {
	login := Request{Method: http.MethodPost, Resource: resourceSession, prepare: func(req *http.Request) error {
		req.Header.Set("vmware-use-header-authn", "true") // The header prevents a cookie.
		return sign(req)
	}}
	c.loginRoot = root(legacy)
	err := c.send(ctx, c.loginRoot, &login, &c.session)
	if isPathMissing(err, &login) {
		if otherErr := c.send(ctx, !c.loginRoot, &login, &c.session); !isPathMissing(otherErr, &login) {
			c.loginRoot = !c.loginRoot
			err = otherErr
		}
	}
	c.legacy.Store(bool(c.loginRoot))
	if err == nil && c.session == "" {
		err = errors.New("the login response has no session ID")
	}
	return err
}

// Join uses a session that the client does not own.
func (c *Client) Join(session string) { c.session = session }

// Logout ends the session that Login opened.
func (c *Client) Logout(ctx context.Context) error {
	return c.send(ctx, c.loginRoot, &Request{Method: http.MethodDelete, Resource: resourceSession}, nil)
}

const resourceSession = "session"

// A Request is a call that is possible below either root.
type Request struct {
	Method string
	// Resource is the path below the infrastructure services. ID and Action are optional.
	Resource, ID, Action string
	// LegacyID is an ID for /rest only.
	LegacyID string
	Body     any
	// NotNull rejects the response null.
	NotNull bool

	prepare func(*http.Request) error
}

func (r *Request) address(base root) (path, query string) {
	switch {
	case base == rest:
		path = "/rest/com/vmware/cis/" + r.Resource
	case r.Resource == resourceSession:
		path = "/api/" + r.Resource
	default:
		path = "/api/cis/" + r.Resource
	}
	if id := cmp.Or(r.ID, r.LegacyID); id != "" && base == rest {
		path += "/id:" + id
	} else if r.ID != "" {
		path += "/" + r.ID
	}
	if r.Action != "" && base == rest {
		query = "~action=" + r.Action
	} else if r.Action != "" {
		query = "action=" + r.Action
	}
	return path, query
}

// Do sends a request and decodes the response into answer, which may be nil. The error for an
// unsuccessful HTTP status is a *StatusError. Until a request succeeds, Do also tries the second root.
func (c *Client) Do(ctx context.Context, r *Request, answer any) error {
	base := root(c.legacy.Load())
	err := c.send(ctx, base, r, answer)
	if !c.confirmed.Load() && isPathMissing(err, r) {
		if otherErr := c.send(ctx, !base, r, answer); !isPathMissing(otherErr, r) {
			if class := ClassOf(otherErr); otherErr == nil || class == Denied || class == NotFound {
				c.legacy.Store(bool(!base))
			}
			err = otherErr
		}
	}
	if err == nil {
		c.confirmed.Store(true)
	}
	return err
}

// isPathMissing includes NotFound for a login, which names no object.
func isPathMissing(err error, r *Request) bool {
	class := ClassOf(err)
	return class == NoSuchPath || class == NotFound && r.Resource == resourceSession
}

func (c *Client) send(ctx context.Context, base root, r *Request, answer any) error {
	var body io.Reader
	if r.Body != nil {
		content, err := json.Marshal(r.Body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(content)
	}
	u := *c.http.URL()
	u.Path, u.RawQuery = r.address(base)
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
		defer func() { _, _ = io.CopyN(io.Discard, res.Body, maxDrain) }()
		return read(base, res, answer, r.NotNull)
	})
}

// read expects an envelope around the answer below /rest.
func read(base root, res *http.Response, answer any, notNull bool) error {
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
	if base == rest {
		into = &envelope
	}
	err := json.NewDecoder(res.Body).Decode(into)
	if err == nil {
		err = json.Unmarshal(envelope.Value, answer) // Fails without a value.
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &mismatch) || err == nil && notNull && string(envelope.Value) == "null" {
		// The body may be a proxy's page.
		return &notAPIError{requestOf(res.Request)}
	}
	if err != nil {
		return fmt.Errorf("%s: reading the response: %w", requestOf(res.Request), err)
	}
	return nil
}
