package tags

import (
	"context"
	"time"

	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
)

// A Reader reads the tags of one vCenter, and logs what is wrong with that once for each
// change. It is used by one goroutine, with one session after the other.
type Reader struct {
	cache *cache
	log   changeLog
	rest  *session.REST
	// creds are those of the last reading.
	creds credentials.Credentials
}

// NewReader returns a reader that is asked once in each refresh interval, and has up to
// parallel requests under way. It contacts nothing.
func NewReader(vcenter string, refresh time.Duration, parallel int) *Reader {
	return &Reader{
		cache: newCache(refresh, parallel),
		log:   changeLog{vcenter: vcenter},
	}
}

// Through has the reader read through a session from now on, and returns the reader.
func (r *Reader) Through(s *session.REST) *Reader {
	r.rest = s
	return r
}

// Wait waits for a login that is under way, for a second at most where its context is done.
func (r *Reader) Wait() error { return r.rest.Wait() }

// Read reads the tags of objects. An error is in the result; it is an answer of the server
// or not, as Answered reports.
func (r *Reader) Read(ctx context.Context, q Query) Attachments {
	if !r.creds.Equal(r.rest.Credentials()) {
		r.cache.forgetRefusals()
		r.creds = r.rest.Credentials()
	}
	var a Attachments
	err := With(ctx, r.rest, func(service Service) (err error) {
		a, err = r.cache.read(ctx, service, q)
		return err
	})
	if ctx.Err() != nil {
		return Attachments{Err: ctx.Err()}
	}
	if err != nil {
		return Attachments{Err: r.log.failed(ctx, err)}
	}
	r.log.read(ctx, a, q.Paths)
	return a
}
