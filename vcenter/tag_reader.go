package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

// refusedNamed bounds how many objects are named in the log at a time whose tags cannot
// be read.
const refusedNamed = 20

// tagQuery is whose tags are wanted.
type tagQuery struct {
	// refs are the objects, in order; paths are their inventory paths, for a person.
	refs  []tags.Ref
	paths map[tags.Ref]string
	// categories are the names of those that matter, age how old their names may be.
	categories []string
	age        time.Duration
}

// A tagReader reads the tags of a vCenter and logs what is wrong with that, once for each
// change. It belongs to the goroutine of the watch that reads tags, and between two
// watches to run.
type tagReader struct {
	vcenter string
	refresh time.Duration
	*tags.Reader
	surveyor surveyor

	// creds are those of the last reading.
	creds Credentials
	// lastErr is what was last logged, kept whether names that were read before are.
	lastErr string
	kept    bool
	// refused are the objects that the account may not read, with their paths.
	refused map[tags.Ref]string
}

func newTagReader(vcenter string, opts timing) *tagReader {
	// Half of the requests that may be in flight stay free for SOAP, which answers when
	// the tagging service does not.
	return &tagReader{vcenter: vcenter, refresh: opts.tagRefresh, Reader: tags.NewReader(opts.tagRefresh, max(1, opts.inFlight/2))}
}

// read reads tags. An error is in the result; it is the server's own word or not, as
// tags.Answered says.
func (r *tagReader) read(ctx context.Context, s *session.Session, q tagQuery) tags.Attachments {
	if !r.creds.Equal(s.Credentials()) {
		r.Forget()
		r.creds = s.Credentials()
	}
	var a tags.Attachments
	err := s.Tagging().With(ctx, func(service tags.Service) (err error) {
		a, err = r.Read(ctx, service, tags.Query{Objects: q.refs, Categories: q.categories, Age: q.age})
		return err
	})
	if ctx.Err() != nil {
		return tags.Attachments{Err: ctx.Err()}
	}
	if err != nil {
		return tags.Attachments{Err: r.failed(ctx, err)}
	}
	r.log(ctx, a, q)
	return a
}

// failed returns the reason why no tags could be read, in words that stay the same while
// nothing changes, and logs it if it is another one than before.
func (r *tagReader) failed(ctx context.Context, err error) error {
	if errors.Is(err, tags.ErrBusy) {
		err = &busy{err}
	}
	err = fmt.Errorf("vCenter %q: %w", r.vcenter, faults.Printable{Err: err})
	if r.lastErr != err.Error() {
		r.lastErr = err.Error()
		klog.FromContext(ctx).Error(err, "Cannot read tags; Nodes that need them keep waiting")
	}
	return err
}

// busy is an error of a tagging service that is throttling or starting. Which status it
// answers changes from one request to the next.
type busy struct{ error }

func (busy) Error() string { return tags.ErrBusy.Error() }

func (b busy) Unwrap() error { return b.error }

// log logs what has changed since the last reading.
func (r *tagReader) log(ctx context.Context, a tags.Attachments, q tagQuery) {
	logger := klog.FromContext(ctx)
	if r.lastErr != "" {
		r.lastErr = ""
		logger.Info("Reads tags again")
	}
	if r.kept = r.kept && a.Kept != nil; a.Kept != nil && !r.kept {
		r.kept = true
		logger.Error(faults.Printable{Err: a.Kept}, "Cannot read the names of all tags again; those read before are kept")
	}
	refused := make(map[tags.Ref]string)
	found := 0
	for _, ref := range a.NotPermitted() {
		refused[ref] = q.paths[ref]
		if _, before := r.refused[ref]; before {
			continue
		}
		if found++; found <= refusedNamed {
			logger.Info("Cannot read the tags of an object", "object", quote.Name(q.paths[ref]), "type", ref.Type, "moid", ref.Value, "err", topology.ErrNotPermitted)
		}
	}
	if found > refusedNamed {
		logger.Info("Cannot read the tags of further objects", "objects", found-refusedNamed, "err", topology.ErrNotPermitted)
	}
	for ref, path := range r.refused {
		if _, still := refused[ref]; still {
			continue
		}
		if _, err := a.Of(ref); !errors.Is(err, tags.ErrNotRead) {
			logger.Info("Can read the tags of the object again", "object", quote.Name(path), "type", ref.Type, "moid", ref.Value)
		}
	}
	r.refused = refused
}
