package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"vzones/internal/quote"
	"vzones/vcenter/faults"
)

const (
	// smallAnswer and largeAnswer limit answers in bytes after decompression, smallParts and largeParts in XML
	// elements and attributes or JSON values. At most one large answer is read at any time, so the ten concurrent
	// requests have 6 MiB and 180,000 parts in total. A part takes up to half a kilobyte, and the Pod's limit is
	// 512 MiB. An index page of 1,000 VMs has less than 1 MB and 16,000 parts; larger pages are split.
	smallAnswer = 256 << 10
	largeAnswer = 4 << 20
	smallParts  = 8_000
	largeParts  = 100_000
	// deepestAnswer limits the nesting of XML, because the decoder is recursive. A vCenter's answers have a dozen levels.
	deepestAnswer = 256
	// maxHeader limits an answer's header in bytes.
	maxHeader = 64 << 10
)

// LargeAnswer is the error for an answer above the limits.
const LargeAnswer = faults.RejectedAnswer("the answer has more than 4 MiB or 100,000 elements: check that the server is a vCenter")

const deepAnswer = faults.RejectedAnswer("the answer is nested more than 256 levels deep: check that the server is a vCenter")

// A transport limits answers and follows no redirect.
type transport struct {
	*http.Transport
	large chan struct{}
}

func newTransport(t *http.Transport) *transport {
	t.MaxResponseHeaderBytes = maxHeader
	return &transport{t, make(chan struct{}, 1)}
}

// RoundTrip returns a [faults.RejectedAnswer] for a redirect.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if location := res.Header.Get("Location"); location != "" && res.StatusCode/100 == 3 {
		_ = res.Body.Close()
		return nil, redirected(req.URL, location, res.StatusCode)
	}
	a := &answer{ReadCloser: res.Body, done: req.Context().Done(), large: t.large, meter: &xmlMeter{}}
	if req.Header.Get("Accept") == "application/json" {
		a.meter = &jsonMeter{}
	}
	res.Body = a
	return res, nil
}

func redirected(from *url.URL, location string, status int) error {
	to := "an invalid address"
	if u, err := from.Parse(location); err == nil {
		to = quote.Plain((&url.URL{Scheme: u.Scheme, Host: u.Host}).String())
	}
	return faults.RejectedAnswer(fmt.Sprintf("%s redirects to %s (%d %s), and redirects are not followed: configure the address of the server itself",
		from.Host, to, status, http.StatusText(status)))
}

// An answer belongs to one goroutine.
type answer struct {
	io.ReadCloser
	done    <-chan struct{}
	large   chan struct{}
	isLarge bool
	read    int
	meter   meter
}

// Read waits for other large answers to end before it returns more than a small answer.
func (a *answer) Read(p []byte) (int, error) {
	if a.read == largeAnswer {
		return 0, LargeAnswer
	}
	n, err := a.ReadCloser.Read(p[:min(len(p), largeAnswer-a.read)])
	a.read += n
	a.meter.add(p[:n])
	parts, depth := a.meter.size()
	switch {
	case depth > deepestAnswer:
		return 0, deepAnswer
	case parts > largeParts:
		return 0, LargeAnswer
	case a.isLarge || a.read <= smallAnswer && parts <= smallParts:
		return n, err
	}
	select {
	case a.large <- struct{}{}:
		a.isLarge = true
		return n, err
	case <-a.done:
		return 0, context.Canceled
	}
}

func (a *answer) Close() error {
	if a.isLarge {
		a.isLarge = false
		<-a.large
	}
	return a.ReadCloser.Close()
}
