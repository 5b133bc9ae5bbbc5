//go:build linux

// Command kubelet installs vzones as operators do, from the plain manifest and from the chart: real kubelets run its image with
// containerd, beside a real control plane and simulated vCenters. make kubelet runs it as root at the root of the project.
//
// It runs itself again in new namespaces, where the control plane and the vCenters are, and there again for each Node, whose
// namespaces contain a containerd and a kubelet. The end of the outer process ends all of them, and with the namespaces
// disappear their mounts, addresses and processes. Only bin/kubelet is changed outside.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// Roles of this program. The first argument is the role.
const (
	roleWorld = "world" // in the namespaces of the control plane
	roleVM    = "vm"    // starts roleNode in the namespaces of a Node, and is its VM's power switch
	roleNode  = "node"  // in these namespaces
)

// stopTimeout bounds the regular end of what runs in namespaces before it is killed.
const stopTimeout = time.Minute

func main() { os.Exit(runRole()) }

func runRole() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Discard client-go's own log.
	klog.SetLogger(klog.Logger{})
	if err := run(ctx, os.Args[1:]); err != nil {
		if !errors.Is(err, errPrinted) {
			fmt.Fprintf(os.Stderr, "\nkubelet: FAILED: %v\n", err)
		}
		return 1
	}
	return 0
}

func run(ctx context.Context, args []string) error {
	role := ""
	if len(args) > 0 {
		role = args[0]
	}
	switch role {
	case roleWorld:
		o, err := parse(args[1:])
		if err != nil {
			return err
		}
		if err := prepareWorld(o.dir); err != nil {
			return err
		}
		return play(ctx, o, os.Stdout)
	case roleVM:
		return enter(ctx, syscall.CLONE_NEWNS|syscall.CLONE_NEWPID|syscall.CLONE_NEWIPC|syscall.CLONE_NEWUTS, append([]string{roleNode}, args[1:]...))
	case roleNode:
		return runNode(ctx, args[1])
	}
	if _, err := parse(args); err != nil {
		return err
	}
	return enter(ctx, syscall.CLONE_NEWNS|syscall.CLONE_NEWPID|syscall.CLONE_NEWIPC|syscall.CLONE_NEWNET, append([]string{roleWorld}, args...))
}

// errPrinted is the error of a child that has printed it.
var errPrinted = errors.New("the child failed")

// options are the flags. All paths are absolute.
type options struct {
	// dir is the folder of this test, bin the one of all programs.
	dir, bin string
	// image is the name of the image with its tag, archive the file that contains it.
	image, archive string
}

func parse(args []string) (*options, error) {
	flags := flag.NewFlagSet("kubelet", flag.ContinueOnError)
	var o options
	flags.StringVar(&o.image, "image", "", "name of the image with its tag")
	flags.StringVar(&o.archive, "archive", "bin/kubelet/image/vsphere-cloud-controller-manager.oci.tar", "file with the image")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if o.image == "" || flags.NArg() > 0 {
		return nil, errors.New("usage: kubelet -image NAME:TAG [-archive FILE]; make kubelet builds what it needs")
	}
	var errs [3]error
	o.bin, errs[0] = filepath.Abs("bin")
	o.dir, errs[1] = filepath.Abs("bin/kubelet")
	o.archive, errs[2] = filepath.Abs(o.archive)
	return &o, errors.Join(errs[:]...)
}

// enter runs this program again in new namespaces, as the first process there, and returns when it has ended. When the context
// is done, it sends SIGTERM. The kernel kills everything in the namespaces together with that process, and that process
// together with this one.
func enter(ctx context.Context, namespaces uintptr, args []string) error {
	// Pdeathsig kills the child when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", args...)
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTimeout
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return errPrinted
	}
	return err
}
