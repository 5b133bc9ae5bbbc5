package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Class is what an answer of failure says.
type Class int

const (
	// Unclassified is an error that is no answer, or an answer that says none of the following.
	Unclassified Class = iota
	// Denied means that the account lacks a privilege. The tagging service also answers so for an object that it does not
	// know.
	Denied
	// NotFound means that the service does not have the object.
	NotFound
	// NoSuchPath means that nothing serves the path. The vCenter has it below the other root, or vAPI is
	// starting.
	NoSuchPath
	// Unauthenticated means that the service does not know the session, or rejects the login.
	Unauthenticated
	// Busy means that the service, or a proxy in front of it, is throttling or starting.
	Busy
	// Refused means that the service cannot work with the request, or has failed at it. One of the objects
	// that the request names may be why.
	Refused
)

// ClassOf returns the class of an answer that an error holds.
func ClassOf(err error) Class {
	var e *StatusError
	if !errors.As(err, &e) {
		return Unclassified
	}
	switch {
	case e.Code == http.StatusUnauthorized, e.Type == typeUnauthenticated:
		return Unauthenticated
	case e.Code == http.StatusForbidden:
		return Denied
	case e.Code == http.StatusNotFound && e.Type != "" && e.Type != typeNoOperation:
		return NotFound
	}
	switch e.Code {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		return NoSuchPath
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Busy
	case http.StatusBadRequest, http.StatusInternalServerError:
		return Refused
	}
	return Unclassified
}

const (
	typeUnauthenticated = "UNAUTHENTICATED"
	typeNoOperation     = "OPERATION_NOT_FOUND"
)

// A StatusError is an answer with an HTTP status of failure. It holds nothing of the
// body but the type of the error: that may be the page of a proxy.
type StatusError struct {
	// Call is method and path of the request.
	Call string
	// Code is the HTTP status.
	Code int
	// Type is the vAPI error's, such as NOT_FOUND; empty if the answer is not of the API. For a path
	// that is not served it is OPERATION_NOT_FOUND, and UNAUTHENTICATED wherever the body has that.
	Type string
	// RetryAfter is the pause that the server asks for, zero if it asks for none.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Call, e.Code, http.StatusText(e.Code))
}

// unusable is an answer with a status of success that is not of the API.
type unusable struct{ call string }

func (e *unusable) Error() string { return e.call + ": the answer is not of the vCenter's REST API" }

// HasStatus reports whether an error is the server's answer with this HTTP status.
func HasStatus(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Answered reports whether an error is an answer of the server, and not that of a
// connection that failed or of a deadline.
func Answered(err error) bool {
	var status *StatusError
	var other *unusable
	return errors.As(err, &status) || errors.As(err, &other)
}

// RetryAfter returns the pause that the server asks for in an error, zero if none.
func RetryAfter(err error) time.Duration {
	var status *StatusError
	if errors.As(err, &status) {
		return status.RetryAfter
	}
	return 0
}

// maxError bounds what is read of an error's body, in bytes.
const maxError = 64 << 10

func newStatusError(res *http.Response) *StatusError {
	e := &StatusError{Call: requestOf(res.Request), Code: res.StatusCode, RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	content, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	type messages []struct {
		ID string `json:"id"`
	}
	var body struct {
		API      string   `json:"error_type"`
		Messages messages `json:"messages"`
		REST     string   `json:"type"` // com.vmware.vapi.std.errors.not_found
		Value    struct {
			Messages messages `json:"messages"`
		} `json:"value"`
	}
	if err != nil || json.Unmarshal(content, &body) != nil {
		return e
	}
	e.Type = strings.ToUpper(cmp.Or(body.API, body.REST[strings.LastIndex(body.REST, ".")+1:]))
	if bytes.Contains(content, []byte("std.errors.unauthenticated")) {
		e.Type = typeUnauthenticated
	}
	for _, m := range append(body.Messages, body.Value.Messages...) {
		if strings.HasSuffix(m.ID, ".httpNotFound") || strings.HasSuffix(m.ID, ".operationsForUrlNotFound") {
			e.Type = typeNoOperation
		}
	}
	return e
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, min(seconds, 24*60*60))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// requestOf returns method and path of a request.
func requestOf(req *http.Request) string {
	return req.Method + " " + (&url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}).String()
}
