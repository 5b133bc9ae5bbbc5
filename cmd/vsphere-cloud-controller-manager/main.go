// Command vsphere-cloud-controller-manager is the cloud controller manager of vzones. Its name follows
// Kubernetes' convention and is in the vSphere CPI's manifests.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // The image has no time zones, and TZ sets the zone of the log.

	"k8s.io/klog/v2"

	"vzones/cmd/vsphere-cloud-controller-manager/app"
)

func main() { os.Exit(run()) }

// run returns the exit status of the daemon: 0 after SIGTERM or SIGINT, and otherwise 1. The framework exits
// with 255 if the API server does not answer.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	daemon := app.New(os.Args[1:], app.Options{})
	klog.OsExit = func(code int) {
		daemon.Stop(ctx)
		os.Exit(code)
	}
	if err := daemon.Run(ctx); err != nil {
		daemon.WriteError(os.Stderr, err)
		return 1
	}
	return 0
}
