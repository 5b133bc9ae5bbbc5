package rest

import (
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

// ErrBusy says that the service answers, but not yet or not now: it is
// starting, or there are too many requests.
var ErrBusy = errors.New("the service is throttling or starting (HTTP 429, 502, 503 or 504)")

// A StatusError is an answer with an HTTP status of failure. It holds nothing of the
// body but the type of the error: that may be the page of a proxy.
type StatusError struct {
	// Call is method and path of the request.
	Call string
	// Code is the HTTP status.
	Code int
	// Type is the vAPI error's, such as NOT_FOUND; empty if the answer is not of the API.
	Type string
	// RetryAfter is the pause that the server asks for, zero if it asks for none.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Call, e.Code, http.StatusText(e.Code))
}

// Is reports whether the error is ErrBusy.
func (e *StatusError) Is(target error) bool {
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return target == ErrBusy
	}
	return false
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
	var body struct {
		API  string `json:"error_type"`
		REST string `json:"type"` // com.vmware.vapi.std.errors.not_found
	}
	if err == nil && json.Unmarshal(content, &body) == nil {
		e.Type = strings.ToUpper(body.API)
		if e.Type == "" {
			e.Type = strings.ToUpper(body.REST[strings.LastIndex(body.REST, ".")+1:])
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
