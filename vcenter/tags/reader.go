package tags

import (
	"context"
	"time"

	"vzones/topology"
	"vzones/vcenter/credentials"
)

// A Reader reads the tags of one vCenter, and logs what is wrong with that once for each
// change. It is used by one goroutine, with one session after the other.
type Reader struct {
	cache *cache
	log   changeLog
	usage usage
	// creds are those of the last reading.
	creds credentials.Credentials
}

// NewReader returns a reader that is asked once in each refresh interval, and has up to
// parallel requests under way. It contacts nothing.
func NewReader(vcenter string, refresh time.Duration, parallel int) *Reader {
	return &Reader{
		cache: newCache(refresh, parallel),
		log:   changeLog{vcenter: vcenter},
		usage: usage{vcenter: vcenter, refresh: refresh},
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

// Survey returns to what the tags of these categories are attached in the whole vCenter, which
// is asked now and then. What cannot be asked is as it was, and what was just read counts as
// it is now.
func (r *Reader) Survey(ctx context.Context, s Session, objects Inventory, categories []string, now Attachments) []topology.Tagged {
	if r.usage.due(categories) {
		r.usage.asked(ctx, r.AskUsage(ctx, s, objects, categories))
	}
	return r.Usage(now)
}

// AskUsage asks to what the tags of categories are attached in the whole vCenter, which Read has to have
// read before. If that fails, Usage is as it was.
func (r *Reader) AskUsage(ctx context.Context, s Session, objects Inventory, categories []string) error {
	var uses []Use
	err := s.With(ctx, func(service Service) (err error) {
		uses, err = r.cache.survey(ctx, service, categories)
		return err
	})
	if err != nil {
		return err
	}
	seen, err := describe(ctx, objects, withoutHosts(uses))
	if err == nil {
		r.usage.uses, r.usage.seen = uses, seen
	}
	return err
}

// Usage returns what AskUsage has found. What was just read counts as it is now.
func (r *Reader) Usage(now Attachments) []topology.Tagged { return r.usage.now(now) }

// Through returns the reader with what it reads through.
func (r *Reader) Through(s Session, objects Inventory) *SessionReader {
	return &SessionReader{r, s, objects}
}

// A SessionReader is a Reader that reads through one session with the vCenter.
type SessionReader struct {
	reader  *Reader
	session Session
	objects Inventory
}

// Read is that of the Reader.
func (r *SessionReader) Read(ctx context.Context, q Query) Attachments {
	return r.reader.Read(ctx, r.session, q)
}

// Survey is that of the Reader.
func (r *SessionReader) Survey(ctx context.Context, categories []string, now Attachments) []topology.Tagged {
	return r.reader.Survey(ctx, r.session, r.objects, categories, now)
}

// Wait is that of the session.
func (r *SessionReader) Wait() error { return r.session.Wait() }
