// Package app is the daemon: it starts the framework's controllers and its own goroutines, and stops both.
//
// A process runs one daemon, since the framework, klog and client-go keep state in global variables.
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
	"vzones/cmd/vsphere-cloud-controller-manager/app/settings"
	"vzones/config"
	"vzones/provider"
	"vzones/provider/nodes"
)

// stopTimeout leaves 1 s of the 5 s that the whole process has. Logging out of all vCenters takes at most 3 s.
const stopTimeout = 4 * time.Second

var errEnded = errors.New("the controllers ended without a signal: restart the daemon")

// Options are the optional settings of a daemon.
type Options struct {
	// Metrics is the framework's registry by default.
	Metrics metrics.Registry
	// KeepLogging ignores the logging flags. A process that logs before Run needs it.
	KeepLogging bool
}

// An App is a daemon. It runs once.
type App struct {
	Options
	args  []string
	flags settings.Flags

	// These fields are constant once the framework runs.
	source   settings.Source
	cfg      *config.Config
	provider *provider.Provider
	nodes    *nodes.Controller
	// election is nil if the framework holds the election or there is none.
	election *election.Election
	cancel   context.CancelFunc

	fence election.Fence
	group errgroup.Group
	stop  sync.Once
	// isConfigured means that the command line was valid.
	isConfigured bool
	failure      atomic.Pointer[error]
}

// New returns a daemon with command-line arguments.
func New(args []string, o Options) *App {
	if o.Metrics == nil {
		o.Metrics = metrics.Served{}
	}
	return &App{Options: o, args: args, cancel: func() {}}
}

// Run runs the daemon until the context is done, and returns the error that ended it, if any.
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

func (a *App) result(ctx context.Context, err error) error {
	if failure := a.failure.Load(); failure != nil {
		return *failure
	}
	if err == nil && a.isConfigured && ctx.Err() == nil {
		return errEnded
	}
	return err
}

// WriteError writes the error that ended the daemon.
func (a *App) WriteError(w io.Writer, err error) {
	switch {
	case errors.As(err, new(config.Errors)):
		fmt.Fprintf(w, "%v\n", err)
	case !a.isConfigured && a.failure.Load() == nil:
		fmt.Fprintf(w, "Error: %v\nRun with --help for all flags.\n", err)
	default:
		fmt.Fprintf(w, "Error: %v\n", err)
	}
}

func (a *App) fail(err error) {
	a.failure.CompareAndSwap(nil, &err)
	a.cancel()
}

// Stop stops everything that Run started, within stopTimeout. Call it before exiting the process. The Lease
// is released once no write is in flight and no session is left.
func (a *App) Stop(ctx context.Context) {
	a.stop.Do(func() {
		a.cancel()
		idle := a.fence.Close()
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
			klog.FromContext(ctx).Info("Shutdown timed out", "waited", stopTimeout)
		}
		klog.Flush()
	})
}
