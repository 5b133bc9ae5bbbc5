// Package app is the daemon: it starts the framework's controllers and what runs beside them,
// and ends both. New makes a daemon, and Run runs it until its context ends.
//
// A process runs one daemon. The framework, klog and client-go keep their feature gates, the
// logger, /configz and most metrics in variables of the process, and the framework ends the
// process where it cannot go on, through klog.OsExit.
//
// The packages below it never import it. Nothing here decides about a Node:
// provider does, from the snapshots of vcenter.
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

// errEnded means that the daemon has ended without a request to stop.
var errEnded = errors.New("the controllers have ended without a signal: start the daemon again")

// Options are the settings of a daemon besides its command line. All are optional.
type Options struct {
	// Metrics is the registry of the daemon's own metrics; nil for the framework's,
	// which /metrics shows.
	Metrics metrics.Registry
	// KeepLogging leaves klog as the process has configured it and ignores the logging flags of the
	// command line. A process that logs before Run needs it: klog has one logger for the process.
	KeepLogging bool
}

// An App is a daemon. It runs once.
type App struct {
	Options
	args  []string
	flags source.Flags

	// Written before the framework runs, and constant from then on.
	source source.Source
	// cfg is the configuration at the start.
	cfg      *config.Config
	provider *provider.Provider
	nodes    *nodes.Controller
	// election is nil without an election of our own.
	election *election.Election
	cancel   context.CancelFunc

	// fence is passed by all writes to Nodes.
	fence election.Fence
	group errgroup.Group
	stop  sync.Once
	// began reports whether the command line was valid, so that the daemon began to run.
	began bool
	// failure is the error that ends the daemon, nil if its context does.
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
// then and after --help, otherwise the reason that the daemon has ended.
func (a *App) Run(ctx context.Context) error {
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("reading the framework's defaults: %w", err)
	}
	setDefaults(opts)
	daemonCtx, cancel := context.WithCancel(ctx)
	a.cancel = cancel
	err = a.execute(a.newCommand(daemonCtx, opts))
	a.Stop(daemonCtx)
	return a.result(ctx, err)
}

// result returns the reason that the daemon has ended, nil if the caller's context is done or the command
// only printed something. The error is the command's.
func (a *App) result(ctx context.Context, err error) error {
	if failure := a.failure.Load(); failure != nil {
		return *failure
	}
	if err == nil && a.began && ctx.Err() == nil {
		return errEnded
	}
	return err
}

// WriteError writes the error that ended the daemon. Each error in the configuration is a line that begins with its
// file and line.
func (a *App) WriteError(w io.Writer, err error) {
	switch {
	case errors.As(err, new(config.Errors)):
		fmt.Fprintf(w, "%v\n", err)
	case !a.began && a.failure.Load() == nil:
		fmt.Fprintf(w, "Error: %v\nRun with --help for all flags.\n", err)
	default:
		fmt.Fprintf(w, "Error: %v\n", err)
	}
}

// fail ends the daemon for an error.
func (a *App) fail(err error) {
	a.failure.CompareAndSwap(nil, &err)
	a.cancel()
}

// Stop ends what Run has started and waits for it, at most stopTimeout. Run calls it at its end; a caller
// that ends the process while Run runs calls it first. The Lease is released once no write is in
// flight and no session is left; after the timeout it stays until it expires.
func (a *App) Stop(ctx context.Context) {
	a.stop.Do(func() {
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
