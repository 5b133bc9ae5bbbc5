package tags

import (
	"context"
	"time"

	"vzones/vcenter/credentials"
	"vzones/vcenter/session"
)

// A Reader reads the tags of one vCenter and logs each new problem once. One goroutine uses it.
type Reader struct {
	cache *cache
	log   changeLog
	rest  *session.REST
	creds credentials.Credentials
}

// NewReader returns a Reader for one read per refresh interval. It sends at most parallel requests at a time.
func NewReader(vcenter string, refresh time.Duration, parallel int) *Reader {
	return &Reader{
		cache: newCache(refresh, parallel),
		log:   changeLog{vcenter: vcenter},
	}
}

// Through sets the session and returns the reader.
func (r *Reader) Through(s *session.REST) *Reader {
	r.rest = s
	return r
}

// Wait waits for a login in progress, at most one second after its context is done.
func (r *Reader) Wait() error { return r.rest.Wait() }

// Read reads tags. The result contains the error.
func (r *Reader) Read(ctx context.Context, q Query) Attachments {
	if !r.creds.Equal(r.rest.Credentials()) {
		r.cache.forgetUnreadable()
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
