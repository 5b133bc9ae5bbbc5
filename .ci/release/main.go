// Command release makes what is shipped: the daemon's image, and all files of a release.
// It writes files and publishes nothing. What it writes follows from the commit, the
// version and the release of Go alone: two folders on two machines give equal files.
//
// It is run by make image, make release and make size.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are what the flags say.
type options struct {
	tree
	// out is the folder that is written to.
	out string
	// repository is where the image will be pushed to, without a tag.
	repository string
	// address is where the sources are, "" while they are nowhere.
	address string
	// snapshot allows a changed tree, and a version that the changelog does not have.
	snapshot bool
	// stdout takes what is said of the work.
	stdout io.Writer
}

// run runs the command that the arguments name.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o := options{stdout: stdout}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&o.dir, "source", ".", "folder of the sources")
	flags.StringVar(&o.out, "out", "", "folder to write to")
	flags.StringVar(&o.version, "version", "", "version, such as v1.37.0")
	flags.StringVar(&o.repository, "image", "vsphere-cloud-controller-manager", "where the image will be pushed to, without a tag")
	flags.StringVar(&o.address, "url", "", "address of the sources, for annotations; none without it")
	flags.BoolVar(&o.snapshot, "snapshot", false, "try a release: from a changed tree, of a version that the changelog does not have")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return fmt.Errorf("arguments %q: want one of image, dist and size", flags.Args())
	}
	if o.version == "" {
		return errors.New("-version is missing")
	}
	if err := o.look(ctx); err != nil {
		return err
	}
	switch command := flags.Arg(0); command {
	case "image":
		return o.makeImage(ctx)
	case "dist":
		return o.makeDist(ctx)
	case "size":
		return o.printSize(ctx)
	default:
		return fmt.Errorf("unknown command %q: want image, dist or size", command)
	}
}
