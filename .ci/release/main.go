// Command release creates the daemon's image, usually for two architectures, without a container engine and without a base
// image: an OCI image layout in a tar archive. The archive depends only on the arguments, so a commit has the same
// digest on every host. It publishes nothing.
//
// make image runs it with the binaries from make build.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run creates the image and prints its name with its digest.
func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: release -version v1.37.0 -out FILE [flags] amd64=BINARY arm64=BINARY")
		flags.PrintDefaults()
	}
	var s spec
	flags.StringVar(&s.version, "version", "", "version of the daemon, such as v1.37.0")
	flags.StringVar(&s.revision, "commit", "", "commit of the sources")
	flags.StringVar(&s.source, "url", "", "address of the sources; none without it")
	repository := flags.String("image", command, "where the image will be pushed to, without a tag")
	created := flags.Int64("created", 0, "time of the commit, in seconds since 1970")
	licenses := flags.String("licenses", "", "folder with the texts of the licenses, LICENSE among them")
	out := flags.String("out", "", "archive to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if s.version == "" || *created == 0 || *licenses == "" || *out == "" {
		return errors.New("-version, -created, -licenses and -out are required")
	}
	s.created = time.Unix(*created, 0).UTC()
	name, err := newName(*repository, s.version)
	if err != nil {
		return err
	}
	s.binaries = map[string][]byte{}
	for _, arg := range flags.Args() {
		arch, file, _ := strings.Cut(arg, "=")
		if s.binaries[arch], err = os.ReadFile(file); err != nil {
			return fmt.Errorf("argument %q: want ARCHITECTURE=BINARY: %w", arg, err)
		}
	}
	if s.licenses, err = files(*licenses); err != nil {
		return err
	}
	index, err := s.index()
	if err != nil {
		return err
	}
	archive, err := pack(index, name, s.created)
	if err != nil {
		return err
	}
	if err := os.WriteFile(*out, archive, 0o644); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s@%s\n", name, digest)
	return err
}

// files returns the contents of all files below a folder, by relative path.
func files(folder string) (map[string][]byte, error) {
	contents := map[string][]byte{}
	root := os.DirFS(folder)
	return contents, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		contents[filepath.ToSlash(path)], err = fs.ReadFile(root, path)
		return err
	})
}
