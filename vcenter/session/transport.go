package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"vzones/topology/quote"
	"vzones/vcenter/faults"
)

const (
	// smallAnswer and largeAnswer bound answers, in bytes after decompression. Large ones are read
	// one at a time, so that the ten requests that may be in flight have 6 MiB together: empty
	// objects of XML take up to 50 times as much memory, and the Pod's limit is 512 MiB. A page of 1,000
	// machines of the index has less than 1 MB; of pages that are too large, smaller ones are read.
	smallAnswer = 256 << 10
	largeAnswer = 4 << 20
	// maxHeader bounds the header of an answer, in bytes.
	maxHeader = 64 << 10
)

// LargeAnswer is the error of reading an answer that is larger than any is accepted.
const LargeAnswer = faults.RefusedAnswer("the answer has more than 4 MiB: is it a vCenter that answers?")

// A transport sends requests of all clients of a session. It follows no redirect, whatever
// the client's own rule is, and bounds answers.
type transport struct {
	*http.Transport
	// large holds a value while an answer is read that is not small.
	large chan struct{}
}

func newTransport(t *http.Transport) *transport {
	t.MaxResponseHeaderBytes = maxHeader
	return &transport{t, make(chan struct{}, 1)}
}

// RoundTrip implements http.RoundTripper. A redirect is a [faults.RefusedAnswer].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if to := res.Header.Get("Location"); to != "" && res.StatusCode/100 == 3 {
		_ = res.Body.Close()
		return nil, redirected(req.URL, to, res.StatusCode)
	}
	res.Body = &answer{ReadCloser: res.Body, done: req.Context().Done(), large: t.large}
	return res, nil
}

func redirected(from *url.URL, location string, status int) error {
	to := "an invalid address"
	if u, err := from.Parse(location); err == nil { // without what may be secret
		to = quote.Plain((&url.URL{Scheme: u.Scheme, Host: u.Host}).String())
	}
	return faults.RefusedAnswer(fmt.Sprintf("%s redirects to %s (%d %s), where nothing is sent: write the address of the server that answers itself",
		from.Host, to, status, http.StatusText(status)))
}

// An answer is the body of one. It belongs to one goroutine.
type answer struct {
	io.ReadCloser
	done    <-chan struct{} // of the request
	large   chan struct{}
	isLarge bool
	read    int
}

// Read waits for other answers that are large, before it reads more than a small one has.
func (a *answer) Read(p []byte) (int, error) {
	if a.read == smallAnswer && !a.isLarge {
		select {
		case a.large <- struct{}{}:
			a.isLarge = true
		case <-a.done:
			return 0, context.Canceled
		}
	}
	most := smallAnswer
	if a.isLarge {
		most = largeAnswer
	}
	if a.read == most {
		return 0, LargeAnswer
	}
	n, err := a.ReadCloser.Read(p[:min(len(p), most-a.read)])
	a.read += n
	return n, err
}

func (a *answer) Close() error {
	if a.isLarge {
		a.isLarge = false
		<-a.large
	}
	return a.ReadCloser.Close()
}
