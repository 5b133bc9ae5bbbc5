package tags

import (
	"context"
	"time"

	"vzones/vcenter/credentials"
)

// A Reader reads the tags of one vCenter, and logs what is wrong with that once for each
// change. It is used by one goroutine, with one session after the other.
type Reader struct {
	cache *cache
	log   changeLog
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

// Read reads the tags of objects. An error is in the result; it is an answer of the server
// or not, as Answered reports.
func (r *Reader) Read(ctx context.Context, s Session, q Query) Attachments {
	if !r.creds.Equal(s.Credentials()) {
		r.cache.forgetRefusals()
		r.creds = s.Credentials()
	}
	var a Attachments
	err := s.With(ctx, func(service Service) (err error) {
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

// Through returns the reader with the session that it reads through.
func (r *Reader) Through(s Session) *SessionReader { return &SessionReader{r, s} }

// A SessionReader is a Reader that reads through one session with the vCenter.
type SessionReader struct {
	reader  *Reader
	session Session
}

// Read is that of the Reader.
func (r *SessionReader) Read(ctx context.Context, q Query) Attachments {
	return r.reader.Read(ctx, r.session, q)
}

// Wait is that of the session.
func (r *SessionReader) Wait() error { return r.session.Wait() }
