// Package app is the daemon: it starts the framework's controllers and what runs beside them,
// and ends both. New makes a daemon, and Run runs it until its context ends.
//
// A process runs one daemon. The framework, klog and client-go keep their feature gates, the
// logger, /configz and most metrics in variables of the process, and the framework ends the
// process where it cannot go on, through klog.OsExit.
//
// The packages below own one concern each and never use this one. Nothing here decides what
// a Node gets: provider does, with what vcenter reads.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/cloud-provider/options"
	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app/election"
	"vzones/cmd/vsphere-cloud-controller-manager/app/metrics"
	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodes"
)

// stopTimeout bounds the end of the daemon: logging out of all vCenters takes
// at most 3 s, and the whole process has 5.
const stopTimeout = 4 * time.Second

// ErrEnded means that the daemon has ended without a request to stop.
var ErrEnded = errors.New("the controllers have ended without a signal: start the daemon again")

// Options are what a daemon takes besides its command line. The zero value is a good one.
type Options struct {
	// Metrics is what the daemon's own metrics are registered with: the registry that the
	// framework serves at /metrics, if it is nil.
	Metrics metrics.Registry
	// KeepLogging leaves klog as the process has configured it, whatever the flags of the
	// command line say. Whoever logs before Run needs it: klog has one logger for the process.
	KeepLogging bool
}

// An App is a daemon. It runs once.
type App struct {
	Options
	args  []string
	flags source.Flags

	// Written before the framework runs, and constant from then on.
	source   source.Source
	cfg      *config.Config // of the start
	provider *provider.Provider
	nodes    *nodes.Controller
	election *election.Election // nil unless there is one
	cancel   context.CancelFunc

	// fence stands before all writes to Nodes.
	fence election.Fence
	group errgroup.Group
	once  sync.Once
	// began reports whether the command line was right, so that the daemon began to run.
	began bool
	// failure is why the daemon ends, where its context is not why.
	failure atomic.Pointer[error]
}

// New returns a daemon with a command line, without the name of the program.
func New(args []string, o Options) *App {
	if o.Metrics == nil {
		o.Metrics = metrics.Served{}
	}
	return &App{Options: o, args: args, cancel: func() {}}
}

// Run runs the daemon until the context is done, and stops what it has started. It returns nil
// after that and after --help; otherwise why the daemon has ended.
func (a *App) Run(ctx context.Context) error {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("reading the framework's defaults: %w", err)
	}
	setDefaults(opts)
	asked := ctx
	ctx, a.cancel = context.WithCancel(ctx)
	err = a.execute(a.newCommand(ctx, opts))
	a.Stop(ctx)
	return a.result(asked, err)
}

// result returns why the daemon has ended, nil if it was asked to or had only to print
// something. The error is what its command has returned.
func (a *App) result(asked context.Context, err error) error {
	switch failure := a.failure.Load(); {
	case failure != nil:
		return *failure
	case err == nil && a.began && asked.Err() == nil:
		return ErrEnded
	}
	return err
}

// WriteError writes why the daemon has ended. Mistakes in the configuration are lines that begin with file and line.
func (a *App) WriteError(to io.Writer, err error) {
	switch {
	case errors.As(err, new(config.Errors)):
		fmt.Fprintf(to, "%v\n", err)
	case !a.began && a.failure.Load() == nil:
		fmt.Fprintf(to, "Error: %v\nRun with --help for all flags.\n", err)
	default:
		fmt.Fprintf(to, "Error: %v\n", err)
	}
}

// fail ends the daemon for an error.
func (a *App) fail(err error) {
	a.failure.CompareAndSwap(nil, &err)
	a.cancel()
}

// Stop ends what Run has started and waits for it for some seconds at most. Run does that
// itself; whoever ends the process while it runs calls Stop before. The Lease is released once
// nothing is written any more and no session is left. What has not ended by then keeps it,
// until it expires.
func (a *App) Stop(ctx context.Context) {
	a.once.Do(func() {
		a.cancel()
		idle := a.fence.Lower()
		done := make(chan error, 1)
		go func() {
			err := a.group.Wait()
			<-idle
			done <- err
		}()
		select {
		case err := <-done:
			if err != nil {
				klog.FromContext(ctx).Error(err, "Stopped with an error")
			}
			if a.election != nil {
				a.election.Release(ctx)
			}
		case <-time.After(stopTimeout):
			klog.FromContext(ctx).Info("Stopped before everything had ended", "waited", stopTimeout)
		}
		klog.Flush()
	})
}
