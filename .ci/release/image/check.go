package image

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// Read extracts an archive into a folder and returns the index that it has.
func Read(archive io.Reader, dir string) (v1.ImageIndex, error) {
	if err := extract(archive, dir); err != nil {
		return nil, err
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%d entries in index.json, want one", len(manifest.Manifests))
	}
	entry := manifest.Manifests[0]
	if entry.MediaType != types.OCIImageIndex {
		return nil, fmt.Errorf("index.json has a %s, want an index", entry.MediaType)
	}
	return top.ImageIndex(entry.Digest)
}

// extract writes the files of a tar archive into a folder; only files and folders.
func extract(archive io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for t := tar.NewReader(archive); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(path.Clean(h.Name))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o755)
		case tar.TypeReg:
			var content []byte
			if content, err = io.ReadAll(t); err == nil {
				err = root.WriteFile(name, content, 0o644)
			}
		default:
			err = fmt.Errorf("%s is neither a file nor a folder", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

// Check reads everything in an index and returns, joined, what is not as the specification
// and this package want it: digests, sizes, platforms, configuration, files, permissions.
func Check(index v1.ImageIndex, architectures ...string) error {
	if err := validate.Index(index); err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	var all []error
	var found []string
	for _, m := range manifest.Manifests {
		if m.Platform == nil || m.Platform.OS != "linux" {
			all = append(all, fmt.Errorf("%s: its platform is %v", m.Digest, m.Platform))
			continue
		}
		arch := m.Platform.Architecture
		found = append(found, arch)
		image, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		if err := checkImage(image, arch, manifest.Annotations); err != nil {
			all = append(all, fmt.Errorf("linux/%s: %w", arch, err))
		}
	}
	if !slices.Equal(found, architectures) {
		all = append(all, fmt.Errorf("it is for %q, want %q", found, architectures))
	}
	return errors.Join(all...)
}

func checkImage(image v1.Image, arch string, annotations map[string]string) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return err
	}
	var all []error
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Errorf(format, args...))
		}
	}
	c := config.Config
	expect(config.OS == "linux" && config.Architecture == arch, "its configuration is for %s/%s", config.OS, config.Architecture)
	expect(c.User == User, "it runs as %q, want %s", c.User, User)
	expect(slices.Equal(c.Entrypoint, []string{Entrypoint}) && len(c.Cmd) == 0, "it starts %q %q, want %s", c.Entrypoint, c.Cmd, Entrypoint)
	expect(len(c.Volumes) == 0, "it has volumes: %v", c.Volumes)
	expect(maps.Equal(c.Labels, annotations) && maps.Equal(manifest.Annotations, annotations),
		"labels %v and annotations %v are not those of the index: %v", c.Labels, manifest.Annotations, annotations)
	for _, key := range []string{"title", "description", "version", "licenses", "created"} {
		expect(annotations["org.opencontainers.image."+key] != "", "there is no annotation org.opencontainers.image.%s", key)
	}
	files, err := Files(image)
	if err != nil {
		return err
	}
	return errors.Join(append(all, checkFiles(files, arch))...)
}

// A File is what an image has at a path.
type File struct {
	tar.Header
	Content []byte
}

// Files returns all that an image has, by path, with its layers put on one another.
func Files(image v1.Image) (map[string]File, error) {
	all := map[string]File{}
	reader := mutate.Extract(image)
	defer reader.Close()
	for t := tar.NewReader(reader); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		all[path.Clean(h.Name)] = File{*h, content}
	}
}

func checkFiles(files map[string]File, arch string) error {
	var all []error
	for name, f := range files {
		mode := fs.FileMode(f.Mode)
		switch {
		case f.Uid != 0 || f.Gid != 0:
			all = append(all, fmt.Errorf("%s belongs to %d:%d, want root", name, f.Uid, f.Gid))
		case f.Typeflag == tar.TypeSymlink:
			if _, ok := files[path.Join(path.Dir(name), f.Linkname)]; !ok || path.IsAbs(f.Linkname) {
				all = append(all, fmt.Errorf("%s leads to %s, which is not in the image", name, f.Linkname))
			}
		case f.Typeflag != tar.TypeReg && f.Typeflag != tar.TypeDir:
			all = append(all, fmt.Errorf("%s is neither a file, a folder nor a link", name))
		case mode != mode.Perm() || mode&0o022 != 0 || mode&0o444 != 0o444:
			all = append(all, fmt.Errorf("%s has the mode %#o: all may read it, and root alone write", name, f.Mode))
		}
	}
	link := files[Command]
	if link.Typeflag != tar.TypeSymlink || "/"+link.Linkname != Entrypoint {
		all = append(all, fmt.Errorf("/%s is not a link to %s", Command, Entrypoint))
	}
	if !x509.NewCertPool().AppendCertsFromPEM(files[Authorities].Content) {
		all = append(all, fmt.Errorf("/%s has no certificate", Authorities))
	}
	if len(files[Licenses+"/LICENSE"].Content) == 0 {
		all = append(all, fmt.Errorf("/%s/LICENSE is missing", Licenses))
	}
	if err := checkBinary(files[Entrypoint[1:]], arch); err != nil {
		all = append(all, fmt.Errorf("%s: %w", Entrypoint, err))
	}
	return errors.Join(all...)
}

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkBinary wants a static program for an architecture, built by Go.
func checkBinary(f File, arch string) error {
	if f.Mode != 0o755 {
		return fmt.Errorf("it has the mode %#o, want 0755", f.Mode)
	}
	program, err := elf.NewFile(bytes.NewReader(f.Content))
	if err != nil {
		return err
	}
	if program.Machine != machines[arch] {
		return fmt.Errorf("it is for %v", program.Machine)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("it is linked dynamically, and the image has no library")
	}
	_, err = buildinfo.Read(bytes.NewReader(f.Content))
	return err
}
