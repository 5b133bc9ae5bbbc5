package tags

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/rest"
)

// refusedNamed bounds how many objects are named in the log at a time whose tags cannot
// be read.
const refusedNamed = 20

// A changeLog logs what is wrong with the reading of a vCenter's tags, once for each change.
type changeLog struct {
	vcenter string
	// outage is since when tags cannot be read.
	outage faults.Outage
	// kept reports whether names that were read before serve.
	kept bool
	// refused are the objects that the account may not read, with their paths.
	refused map[Ref]string
}

// failed returns the reason why no tags could be read, in words that stay the same while
// nothing changes, and logs it once in an outage.
func (l *changeLog) failed(ctx context.Context, err error) error {
	cause := faults.CauseOf(err)
	if rest.ClassOf(err) == rest.Busy {
		err = &busyError{err}
		cause = "busy"
	}
	err = fmt.Errorf("vCenter %q: %w", l.vcenter, faults.Printable{Err: err})
	l.outage.Log(klog.FromContext(ctx), cause, err, "Cannot read tags; Nodes that need them keep waiting", "Still cannot read tags")
	return err
}

// A busyError is an error of a tagging service that is throttling or starting. Which status it
// answers changes from one request to the next.
type busyError struct{ error }

func (busyError) Error() string {
	return "the tagging service is throttling or starting (HTTP 429, 502, 503 or 504)"
}

func (b busyError) Unwrap() error { return b.error }

// read logs what has changed since the last reading.
func (l *changeLog) read(ctx context.Context, a Attachments, paths map[Ref]string) {
	logger := klog.FromContext(ctx)
	if lasted, ended := l.outage.End(); ended {
		logger.Info("Reading tags again", "after", lasted.Round(time.Second))
	}
	if l.kept = l.kept && a.Kept != nil; a.Kept != nil && !l.kept {
		l.kept = true
		logger.Error(faults.Printable{Err: a.Kept}, "Cannot read the names of all tags again; the previous ones stay in use")
	}
	l.logRefused(ctx, a, paths)
}

// logRefused logs which objects' tags cannot be read any more, and which can be again.
func (l *changeLog) logRefused(ctx context.Context, a Attachments, paths map[Ref]string) {
	logger := klog.FromContext(ctx)
	refused := make(map[Ref]string)
	found := 0
	for _, ref := range a.NotPermitted() {
		refused[ref] = paths[ref]
		if _, before := l.refused[ref]; before {
			continue
		}
		if found++; found <= refusedNamed {
			logger.Info("Cannot read the tags of an object", "object", quote.Name(paths[ref]), "type", ref.Type, "moid", ref.Value, "err", errForbidden)
		}
	}
	if found > refusedNamed {
		logger.Info("Cannot read the tags of further objects", "objects", found-refusedNamed, "err", errForbidden)
	}
	for ref, path := range l.refused {
		if _, still := refused[ref]; still {
			continue
		}
		if _, err := a.Of(ref); !errors.Is(err, topology.ErrNotRead) {
			logger.Info("Can read the tags of the object again", "object", quote.Name(path), "type", ref.Type, "moid", ref.Value)
		}
	}
	l.refused = refused
}
