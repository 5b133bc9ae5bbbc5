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

const maxLoggedObjects = 20

type changeLog struct {
	vcenter          string
	outage           faults.Outage
	isRefreshFailing bool
	unreadablePaths  map[Ref]string
}

func (l *changeLog) failed(ctx context.Context, err error) error {
	cause := faults.CauseOf(err)
	if rest.ClassOf(err) == rest.Busy {
		err = &busyError{err}
		cause = "busy"
	}
	err = fmt.Errorf("vCenter %q: %w", l.vcenter, faults.Printable{Err: err})
	l.outage.Log(klog.FromContext(ctx), cause, err, "Cannot read tags; new Nodes that need them stay uninitialized", "Still cannot read tags")
	return err
}

// A busyError hides the HTTP status, which differs between requests.
type busyError struct{ error }

func (busyError) Error() string {
	return "the tagging service is throttling or starting (HTTP 429, 502, 503 or 504)"
}

func (b busyError) Unwrap() error { return b.error }

func (l *changeLog) read(ctx context.Context, a Attachments, paths map[Ref]string) {
	logger := klog.FromContext(ctx)
	if lasted, ended := l.outage.End(); ended {
		logger.Info("Tags can be read again", "after", lasted.Round(time.Second))
	}
	if l.isRefreshFailing = l.isRefreshFailing && a.RefreshErr != nil; a.RefreshErr != nil && !l.isRefreshFailing {
		l.isRefreshFailing = true
		logger.Error(faults.Printable{Err: a.RefreshErr}, "Cannot refresh all tag names; the previous names stay in use")
	}
	l.logUnreadable(ctx, a, paths)
}

func (l *changeLog) logUnreadable(ctx context.Context, a Attachments, paths map[Ref]string) {
	logger := klog.FromContext(ctx)
	unreadable := make(map[Ref]string)
	found := 0
	for _, ref := range a.NotPermitted() {
		unreadable[ref] = paths[ref]
		if _, wasUnreadable := l.unreadablePaths[ref]; wasUnreadable {
			continue
		}
		if found++; found <= maxLoggedObjects {
			logger.Info("Cannot read the tags of an object", "object", quote.Name(paths[ref]), "type", ref.Type, "moid", ref.Value, "err", errForbidden)
		}
	}
	if found > maxLoggedObjects {
		logger.Info("Cannot read the tags of further objects", "objects", found-maxLoggedObjects, "err", errForbidden)
	}
	for ref, path := range l.unreadablePaths {
		if _, isUnreadable := unreadable[ref]; isUnreadable {
			continue
		}
		if _, err := a.TagsOf(ref); !errors.Is(err, topology.ErrNotRead) {
			logger.Info("Can read the tags of the object again", "object", quote.Name(path), "type", ref.Type, "moid", ref.Value)
		}
	}
	l.unreadablePaths = unreadable
}
