package tags

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	sessionHeader = "vmware-api-session-id"
	// maxAnswer bounds an answer, in bytes. One to objectsPerRequest objects with ten
	// tags each is of 3 MB.
	maxAnswer = 64 << 20
	// drained is how much of an answer that is not used is read, so that its
	// connection serves again.
	drained = 64 << 10
)

// A Client is a session of the tagging API. Its methods may be called concurrently
// once it is logged in.
type Client struct {
	http    *soap.Client
	session string
	// legacy reports whether the vCenter serves tags below /rest only, found whether
	// that is known: it has answered a request for tags.
	legacy, found atomic.Bool
	// home is the root where the session was opened.
	home root
}

// A root is where an API begins: vCenters before 7.0 U2 have tags below /rest only,
// and later ones may have them below /api only.
type root bool

const (
	api  root = false
	rest root = true
)

// NewClient returns a client that goes the way of another and trusts the same. It
// contacts nothing.
func NewClient(c *soap.Client) *Client { return &Client{http: c.NewServiceClient("/api", "")} }

// An Authenticator adds to the request of a login what proves who asks.
type Authenticator interface {
	SignRequest(*http.Request) error
}

// Password is an Authenticator by name and password.
type Password struct{ userinfo *url.Userinfo }

// ByPassword returns the Authenticator for a name and a password.
func ByPassword(u *url.Userinfo) Password { return Password{u} }

// SignRequest implements Authenticator.
func (p Password) SignRequest(req *http.Request) error {
	password, _ := p.userinfo.Password()
	req.SetBasicAuth(p.userinfo.Username(), password)
	return nil
}

// Login opens a session.
func (c *Client) Login(ctx context.Context, who Authenticator) error {
	login := call{method: http.MethodPost, resource: resourceSession, prepare: func(req *http.Request) error {
		req.Header.Set("vmware-use-header-authn", "true") // no cookie
		return who.SignRequest(req)
	}}
	home, err := c.do(ctx, &login, &c.session)
	if err == nil && c.session == "" {
		err = errors.New("the answer to the login has no session ID")
	}
	c.home = home
	return err
}

// Join uses a session that was opened otherwise, which is not the client's to end.
func (c *Client) Join(session string) { c.session = session }

// Logout ends the session that Login has opened.
func (c *Client) Logout(ctx context.Context) error {
	return c.send(ctx, c.home, &call{method: http.MethodDelete, resource: resourceSession}, nil)
}

// Attached returns the IDs of the tags attached to objects. An object that is not in the
// result has none.
func (c *Client) Attached(ctx context.Context, objects []types.ManagedObjectReference) (map[types.ManagedObjectReference][]string, error) {
	var body struct {
		Objects []object `json:"object_ids"`
	}
	for _, ref := range objects {
		body.Objects = append(body.Objects, object{ID: ref.Value, Type: ref.Type})
	}
	var answer []struct {
		Object object   `json:"object_id"`
		Tags   []string `json:"tag_ids"`
	}
	at, err := c.do(ctx, &call{method: http.MethodPost, resource: "tagging/tag-association", action: "list-attached-tags-on-objects", body: body}, &answer)
	if err != nil {
		return nil, err
	}
	if answer == nil { // null, which does not say that the objects have no tags
		path, _ := (&call{resource: "tagging/tag-association"}).address(at)
		return nil, &unusable{"POST " + path}
	}
	attached := make(map[types.ManagedObjectReference][]string, len(answer))
	for _, a := range answer {
		attached[types.ManagedObjectReference{Type: a.Object.Type, Value: a.Object.ID}] = a.Tags
	}
	return attached, nil
}

// TagsOf returns the IDs of the tags of a category that the account may read.
func (c *Client) TagsOf(ctx context.Context, category string) ([]string, error) {
	var ids []string
	body := map[string]string{"category_id": category}
	_, err := c.do(ctx, &call{method: http.MethodPost, resource: "tagging/tag", legacyID: category, action: "list-tags-for-category", body: body}, &ids)
	return ids, err
}

// Objects returns the objects to which each of the tags is attached, as far as the account
// may read them. It must not be called without a tag: some vCenters take that for all.
func (c *Client) Objects(ctx context.Context, tags []string) (map[string][]types.ManagedObjectReference, error) {
	var answer []struct {
		Tag     string   `json:"tag_id"`
		Objects []object `json:"object_ids"`
	}
	body := map[string][]string{"tag_ids": tags}
	if _, err := c.do(ctx, &call{method: http.MethodPost, resource: "tagging/tag-association", action: "list-attached-objects-on-tags", body: body}, &answer); err != nil {
		return nil, err
	}
	attached := make(map[string][]types.ManagedObjectReference, len(answer))
	for _, a := range answer {
		for _, o := range a.Objects {
			attached[a.Tag] = append(attached[a.Tag], types.ManagedObjectReference{Type: o.Type, Value: o.ID})
		}
	}
	return attached, nil
}

type object struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

// Tag reads a tag.
func (c *Client) Tag(ctx context.Context, id string) (Tag, error) {
	var t Tag
	_, err := c.do(ctx, &call{method: http.MethodGet, resource: "tagging/tag", id: id}, &t)
	if err == nil && (t.Name == "" || t.Category == "") {
		err = fmt.Errorf("tag %s has no name or no category", id)
	}
	return t, err
}

// Category reads the name of a category.
func (c *Client) Category(ctx context.Context, id string) (string, error) {
	var category struct {
		Name string `json:"name"`
	}
	_, err := c.do(ctx, &call{method: http.MethodGet, resource: "tagging/category", id: id}, &category)
	if err == nil && category.Name == "" {
		err = fmt.Errorf("tag category %s has no name", id)
	}
	return category.Name, err
}

// Categories returns the IDs of the categories that the account may read.
func (c *Client) Categories(ctx context.Context) ([]string, error) {
	var ids []string
	_, err := c.do(ctx, &call{method: http.MethodGet, resource: "tagging/category"}, &ids)
	return ids, err
}

const resourceSession = "session"

// A call is a request that both roots know, each by another path.
type call struct {
	method               string
	resource, id, action string
	// legacyID is an ID that is in the path at /rest only.
	legacyID string
	body     any
	prepare  func(*http.Request) error
}

func (r *call) address(at root) (path, query string) {
	switch {
	case at == rest:
		path = "/rest/com/vmware/cis/" + r.resource
	case r.resource == resourceSession:
		path = "/api/" + r.resource
	default:
		path = "/api/cis/" + r.resource
	}
	if id := cmp.Or(r.id, r.legacyID); id != "" && at == rest {
		path += "/id:" + id
	} else if r.id != "" {
		path += "/" + r.id
	}
	if r.action != "" && at == rest {
		query = "~action=" + r.action
	} else if r.action != "" {
		query = "action=" + r.action
	}
	return path, query
}

// do sends a request to where the vCenter serves it, and returns where that is. Until
// it has answered a request for tags, /rest is tried if there is nothing at /api.
func (c *Client) do(ctx context.Context, r *call, answer any) (root, error) {
	at := root(c.legacy.Load())
	err := c.send(ctx, at, r, answer)
	if at == api && !c.found.Load() && nothingThere(err, r) {
		at = rest
		if older := c.send(ctx, at, r, answer); !nothingThere(older, r) {
			c.legacy.Store(true)
			err = older
		}
	}
	if err == nil && r.resource != resourceSession {
		c.found.Store(true)
	}
	return at, err
}

// nothingThere reports whether the answer says that there is no such path, and not that
// there is no such tag or object.
func nothingThere(err error, r *call) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == http.StatusNotFound && (status.Type == "" || r.resource == resourceSession)
}

func (c *Client) send(ctx context.Context, at root, r *call, answer any) error {
	var body io.Reader
	if r.body != nil {
		content, err := json.Marshal(r.body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(content)
	}
	u := *c.http.URL()
	u.Path, u.RawQuery = r.address(at)
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if r.method == http.MethodPost {
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
		return read(at, res, answer)
	})
}

// read parses an answer. At /rest values are in an envelope.
func read(at root, res *http.Response, answer any) error {
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
	err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(into)
	if err == nil {
		err = json.Unmarshal(envelope.Value, answer) // a syntax error where there is no value
	}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &mismatch) {
		// What the answer holds may be the page of a proxy.
		return &unusable{requestOf(res.Request)}
	}
	if err != nil {
		return fmt.Errorf("%s: reading the answer: %w", requestOf(res.Request), err)
	}
	return nil
}
