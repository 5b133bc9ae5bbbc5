package dryrun

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"vzones/topology/quote"
)

// errNotSent is the error of a write that a dry run has no result for.
var errNotSent = errors.New("a dry run does not send this write")

// sameVersion is how often a write is tried until the Node has not changed between its reading
// and the write.
const sameVersion = 3

// A transport has the API server work out what writes to Nodes would change, and sends no other
// write.
type transport struct {
	changes *changes
	next    http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper. What it does not know it refuses.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || isReview(r) {
		return t.next.RoundTrip(r)
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	defer t.changes.begin(request{r.Method, r.URL.String(), sha256.Sum256(body)})()
	node, ok := nodeOf(r)
	switch changes := r.Method == http.MethodPut || r.Method == http.MethodPatch; {
	case ok && changes:
		return t.try(r, node, body)
	case ok && r.Method == http.MethodDelete:
		return t.delete(r, node)
	case isEvent(r) && (changes || r.Method == http.MethodPost):
		return t.record(r, body), nil
	}
	what := r.Method + " " + quote.Name(r.URL.Path)
	t.changes.refuseOther(what)
	return nil, fmt.Errorf("%s: %w", what, errNotSent)
}

// isReview reports whether a request asks what somebody may do or who they are. Nothing is stored.
func isReview(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "reviews") &&
		(strings.Contains(r.URL.Path, "/apis/authorization.k8s.io/") || strings.Contains(r.URL.Path, "/apis/authentication.k8s.io/"))
}

// isEvent reports whether a request is about Events of the core API, the one that all recorders
// of the daemon use.
func isEvent(r *http.Request) bool {
	_, below, ok := strings.Cut(r.URL.Path, "/api/v1/namespaces/")
	_, resource, _ := strings.Cut(below, "/")
	return ok && (resource == "events" || strings.HasPrefix(resource, "events/"))
}

// nodesPath is the path of all Nodes, behind that of the API server.
const nodesPath = "/api/v1/nodes/"

// nodeOf returns the path of the one Node that a request is about, also if it is about a part
// of it.
func nodeOf(r *http.Request) (path string, ok bool) {
	before, after, ok := strings.Cut(r.URL.Path, nodesPath)
	name, part, _ := strings.Cut(after, "/")
	if r.Method == http.MethodDelete && part != "" {
		return "", false
	}
	return before + nodesPath + name, ok && name != ""
}

// try sends a write so that it changes nothing, and notes how its result differs from the Node.
func (t *transport) try(r *http.Request, path string, body []byte) (*http.Response, error) {
	of := actionOf(r, body)
	for again := 1; ; again++ {
		now, res, err := t.get(r, path)
		if now == nil {
			return t.fail(of, path, "", theReading, res, err)
		}
		dry := r.Clone(r.Context())
		query := dry.URL.Query()
		query["dryRun"] = []string{metav1.DryRunAll}
		dry.URL.RawQuery = query.Encode()
		setBody(dry, body)
		would, res, err := t.exchange(dry)
		if would == nil {
			return t.fail(of, path, now.UID, theWrite, res, err)
		}
		if would.ResourceVersion == now.ResourceVersion || again == sameVersion {
			t.changes.write(of, now, would)
			return res, nil
		}
	}
}

// delete notes that a Node would be deleted.
func (t *transport) delete(r *http.Request, path string) (*http.Response, error) {
	of := actionOf(r, nil)
	now, res, err := t.get(r, path)
	if now == nil {
		return t.fail(of, path, "", theReading, res, err)
	}
	t.changes.remove(of, now)
	return answer(r, http.StatusOK, &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}), nil
}

// theReading and theWrite are what can fail.
const theReading, theWrite = "the reading before a write", "a write"

// fail notes that something about a Node has failed, unless there is no such Node or nobody waits for
// it any more. After a conflict the writer tries again.
func (t *transport) fail(of action, path string, uid types.UID, what string, res *http.Response, err error) (*http.Response, error) {
	name := path[strings.LastIndex(path, "/")+1:]
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		t.changes.fail(of, name, uid, what+" fails: "+quote.Line(err.Error()))
	case res.StatusCode == http.StatusNotFound, res.StatusCode == http.StatusConflict && what == theWrite:
	default:
		t.changes.fail(of, name, uid, "the API server refuses "+what+": "+refusal(res))
	}
	return res, err
}

// record notes an Event, and answers as if it were written.
func (t *transport) record(r *http.Request, body []byte) *http.Response {
	meta := metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
	if r.Method != http.MethodPost { // it was noted before
		return answer(r, http.StatusOK, &v1.Event{TypeMeta: meta})
	}
	e, err := decode[*v1.Event](body)
	if err != nil {
		e = &v1.Event{}
	}
	e.TypeMeta = meta
	t.changes.record(e)
	return answer(r, http.StatusCreated, e)
}

// get returns a Node as it is now, or the answer that there is none to be read.
func (t *transport) get(r *http.Request, path string) (*v1.Node, *http.Response, error) {
	get := r.Clone(r.Context())
	get.Method, get.URL.Path, get.URL.RawPath, get.URL.RawQuery = http.MethodGet, path, "", ""
	get.Body, get.GetBody, get.ContentLength = nil, nil, 0
	get.Header.Del("Content-Type")
	get.Header.Set("Accept", runtime.ContentTypeJSON)
	return t.exchange(get)
}

// exchange returns the Node that a request is answered with, or the answer that has none.
func (t *transport) exchange(r *http.Request) (*v1.Node, *http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	data, err := readResponse(res)
	if err != nil {
		return nil, nil, err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return nil, res, nil
	}
	n, err := decode[*v1.Node](data)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the answer to %s %s: %w", r.Method, quote.Name(r.URL.Path), err)
	}
	return n, res, nil
}

// refusal returns what the API server says against a request.
func refusal(res *http.Response) string {
	data, err := readResponse(res)
	if err != nil {
		return res.Status
	}
	if status, err := decode[*metav1.Status](data); err == nil && status.Message != "" {
		return quote.Text(status.Message)
	}
	return res.Status
}

// decode decodes an object of the API, in JSON or protobuf.
func decode[T runtime.Object](data []byte) (T, error) {
	var none T
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return none, err
	}
	of, ok := object.(T)
	if !ok {
		return none, fmt.Errorf("the API server answers with a %T", object)
	}
	return of, nil
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

// readResponse returns the body of a response, which can be read again.
func readResponse(res *http.Response) ([]byte, error) {
	data, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(data))
	return data, err
}

func setBody(r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
}

// answer returns the response of an API server.
func answer(r *http.Request, code int, object any) *http.Response {
	data, err := json.Marshal(object)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(err.Error())
	}
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {runtime.ContentTypeJSON}},
		Body:          io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)),
	}
}
