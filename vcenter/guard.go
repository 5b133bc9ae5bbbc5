package vcenter

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"k8s.io/klog/v2"
)

// A guard turns panics in what is done for one vCenter into that vCenter's errors:
// libraries trust answers more than they deserve, and no answer of one vCenter may
// end what is done for the others.
type guard struct {
	// last is what the last panic said. Its stack is in the log.
	last atomic.Pointer[string]
}

// A panicked is a panic as an error.
type panicked struct {
	where string
	value any
}

func (p *panicked) Error() string {
	said, _, _ := strings.Cut(fmt.Sprint(p.value), "\n") // one that was passed on has its stack behind it
	return p.where + ": panic: " + said
}

func (p *panicked) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// run calls f. Where f panics, the error says so and where. The stack is logged, once
// as long as it is the same panic again.
func (g *guard) run(ctx context.Context, where string, f func() error) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		err = &panicked{where, value}
		said := err.Error()
		if last := g.last.Swap(&said); last == nil || *last != said {
			klog.FromContext(ctx).Error(err, "Recovered from a panic; the vCenter is tried again, and others are not concerned", "stack", string(debug.Stack()))
		}
	}()
	return f()
}

// crashed reports whether an error comes of a panic.
func crashed(err error) bool {
	var p *panicked
	return errors.As(err, &p)
}
