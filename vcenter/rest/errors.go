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

// A Class is the kind of an unsuccessful response.
type Class int

// Unclassified means that no class below applies, such as for a failed connection or a response that is not from the API.
const (
	Unclassified Class = iota
	// Denied means that the account lacks a privilege. The tagging service also denies unknown objects.
	Denied
	NotFound
	// NoSuchPath means that the vCenter lacks this path: it exists only below the other of /api and /rest, or vAPI is
	// starting.
	NoSuchPath
	// Unauthenticated means an unknown session or a rejected login.
	Unauthenticated
	// Busy means that the service or a proxy is throttling or starting.
	Busy
	// Failed means that the service failed, perhaps because of an object in the request.
	Failed
)

// ClassOf returns the class of an error.
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
		return Failed
	}
	return Unclassified
}

const (
	typeUnauthenticated = "UNAUTHENTICATED"
	typeNoOperation     = "OPERATION_NOT_FOUND"
)

// A StatusError is a response with an unsuccessful HTTP status.
type StatusError struct {
	// Call is the method, path and query of the request.
	Call string
	Code int
	// Type is the vAPI error type, such as NOT_FOUND, or empty if the response is not from the API.
	Type string
	// RetryAfter is the requested pause, or zero.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Call, e.Code, http.StatusText(e.Code))
}

type notAPIError struct{ call string }

func (e *notAPIError) Error() string {
	return e.call + ": the response is not from the vCenter's REST API"
}

// HasStatus reports whether an error is a response with this HTTP status.
func HasStatus(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Answered reports whether an error is a response, not a failed connection or a timeout.
func Answered(err error) bool {
	var status *StatusError
	var notAPI *notAPIError
	return errors.As(err, &status) || errors.As(err, &notAPI)
}

// RetryAfter returns the requested pause, or zero.
func RetryAfter(err error) time.Duration {
	var status *StatusError
	if errors.As(err, &status) {
		return status.RetryAfter
	}
	return 0
}

const maxErrorBody = 64 << 10

func newStatusError(res *http.Response) *StatusError {
	e := &StatusError{Call: requestOf(res.Request), Code: res.StatusCode, RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	content, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	type messages []struct {
		ID string `json:"id"`
	}
	var body struct {
		ErrorType  string   `json:"error_type"`
		Messages   messages `json:"messages"`
		LegacyType string   `json:"type"` // com.vmware.vapi.std.errors.not_found
		Value      struct {
			Messages messages `json:"messages"`
		} `json:"value"`
	}
	if err != nil || json.Unmarshal(content, &body) != nil {
		return e
	}
	e.Type = strings.ToUpper(cmp.Or(body.ErrorType, body.LegacyType[strings.LastIndex(body.LegacyType, ".")+1:]))
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

func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(max(0, min(seconds, 24*60*60))) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

func requestOf(req *http.Request) string {
	return req.Method + " " + (&url.URL{Path: req.URL.Path, RawQuery: req.URL.RawQuery}).String()
}
