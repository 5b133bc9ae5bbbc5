package world

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // serves tags
	vapi "github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"vzones/cmd/vzones/recording"
	"vzones/vcenter/faults"
)

// A replay is a recording whose vCenters are simulated on this host.
type replay struct {
	about recording.About
	nodes []*v1.Node
	// config is the path of a configuration for the simulated vCenters.
	config string

	dir     string
	models  []*simulator.Model
	servers []*simulator.Server
}

// replayUser is the account of the simulated vCenters.
const replayUser = "replay"

// startReplay starts simulated vCenters, and returns flags with the recorded configuration and Nodes.
func (w *World) startReplay(ctx context.Context, f *Flags) (*Flags, error) {
	log.SetOutput(io.Discard) // The simulator logs connections.
	dir, err := os.MkdirTemp("", "vzones-recording-")
	if err != nil {
		return f, fmt.Errorf("unpacking the recording: %w", err)
	}
	w.replay = &replay{dir: dir}
	if err := w.replay.start(ctx, f.Recording); err != nil {
		return f, fmt.Errorf("recording %s: %w", f.Recording, err)
	}
	w.Recording = &w.replay.about
	if w.Recording.NamesReplaced {
		fmt.Fprintf(os.Stderr, "%s contains replaced names and addresses: record with --keep-names to see your own\n", f.Recording)
	}
	recorded := *f
	recorded.Config = w.replay.config
	recorded.Nodes = w.replay.nodes
	return &recorded, nil
}

func (r *replay) start(ctx context.Context, path string) error {
	if err := unpack(path, r.dir); err != nil {
		return err
	}
	var nodes v1.NodeList
	config := map[string]any{}
	if err := errors.Join(r.read(recording.AboutFile, &r.about), r.read(recording.NodesFile, &nodes), r.read(recording.ConfigFile, &config)); err != nil {
		return err
	}
	r.nodes = make([]*v1.Node, len(nodes.Items))
	for i := range nodes.Items {
		r.nodes[i] = &nodes.Items[i]
	}
	recorded, _ := config["vcenter"].(map[string]any)
	entries := map[string]any{}
	for i := range r.about.VCenters {
		v := &r.about.VCenters[i]
		entry := map[string]any{"user": replayUser, "password": replayUser}
		if err := r.startVCenter(ctx, v, entry); err != nil {
			return fmt.Errorf("vCenter %q: %w", v.Name, err)
		}
		// No other key is used: a recording may come from someone else, and must not lead to other servers or files.
		original, _ := recorded[v.Name].(map[string]any)
		for _, key := range []string{"datacenters", "ipFamily"} {
			if value, ok := original[key]; ok {
				entry[key] = value
			}
		}
		entries[v.Name] = entry
	}
	data, err := yaml.Marshal(map[string]any{"vcenter": entries, "labels": config["labels"], "topology": config["topology"], "nodes": config["nodes"]})
	if err != nil {
		return fmt.Errorf("%s: %w", recording.ConfigFile, err)
	}
	r.config = filepath.Join(r.dir, recording.ConfigFile)
	return os.WriteFile(r.config, data, 0o600)
}

// close stops the vCenters and removes the unpacked files.
func (r *replay) close() {
	for _, s := range r.servers {
		_ = s.Config.Close() // The server's own Close waits for long polls.
	}
	for _, m := range r.models {
		m.Remove()
	}
	_ = os.RemoveAll(r.dir)
}

func (r *replay) read(name string, into any) error {
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// unreachable is a port of a vCenter that could not be recorded.
const unreachable = 1

// startVCenter starts a simulated vCenter and sets the keys of its entry in the configuration.
func (r *replay) startVCenter(ctx context.Context, v *recording.VCenter, entry map[string]any) error {
	entry["server"] = "127.0.0.1"
	entry["port"] = unreachable
	if len(v.Objects) == 0 {
		return nil
	}
	if !filepath.IsLocal(v.Directory) {
		return fmt.Errorf("the directory %q is outside the recording", v.Directory)
	}
	server, err := r.simulate(ctx, filepath.Join(r.dir, v.Directory))
	if err != nil {
		return err
	}
	if entry["port"], err = strconv.Atoi(server.URL.Port()); err != nil {
		return err
	}
	entry["caData"] = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	var tags recording.Tags
	if err := r.read(filepath.Join(v.Directory, recording.TagsFile), &tags); err != nil {
		return err
	}
	return attachAll(ctx, server.URL, &tags)
}

// simulate starts a vCenter with the recorded objects of a directory.
func (r *replay) simulate(ctx context.Context, dir string) (*simulator.Server, error) {
	recording.Templates.Lock()
	defer recording.Templates.Unlock()
	model := &simulator.Model{}
	// The simulator panics if a property has an unexpected type.
	err := new(faults.Guard).Run(ctx, "loading the recording", func() error { return model.Load(dir) })
	if err != nil {
		return nil, err
	}
	r.models = append(r.models, model)
	model.Service.TLS = &tls.Config{}
	model.Service.RegisterEndpoints = true
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(replayUser, replayUser)}
	server := model.Service.NewServer()
	r.servers = append(r.servers, server)
	return server, nil
}

// attachAll creates and attaches the tags.
func attachAll(ctx context.Context, at *url.URL, tags *recording.Tags) error {
	transport := soap.NewClient(at, true)
	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return err
	}
	session := rest.NewClient(client)
	if err := session.Login(ctx, url.UserPassword(replayUser, replayUser)); err != nil {
		return err
	}
	defer func() { _ = session.Logout(ctx) }()
	m := vapi.NewManager(session)
	for _, c := range tags.Categories {
		category, err := m.CreateCategory(ctx, &vapi.Category{Name: c.Name, Cardinality: c.Cardinality, AssociableTypes: c.Types})
		if err != nil {
			return fmt.Errorf("tag category %q: %w", c.Name, err)
		}
		for _, t := range c.Tags {
			tag, err := m.CreateTag(ctx, &vapi.Tag{Name: t.Name, CategoryID: category})
			if err != nil {
				return fmt.Errorf("tag %q: %w", t.Name, err)
			}
			for _, object := range t.Objects {
				var ref types.ManagedObjectReference
				if !ref.FromString(object) {
					return fmt.Errorf("tag %q: %q is not TYPE:ID", t.Name, object)
				}
				if err := m.AttachTag(ctx, tag, ref); err != nil {
					return fmt.Errorf("attaching tag %q to %s: %w", t.Name, object, err)
				}
			}
		}
	}
	return nil
}

// Bounds of a recording: it may come from someone else.
const (
	maxRecordedFiles = 1_000_000
	maxRecordedBytes = 4 << 30
)

var errNotRecorded = errors.New("not written by vzones record")

// unpack writes the files of an archive, or of a directory with its files, below a directory.
func unpack(path, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return copyFiles(path, root)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRecorded, err)
	}
	archive := tar.NewReader(io.LimitReader(zipped, maxRecordedBytes))
	for range maxRecordedFiles {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errNotRecorded, err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := write(root, header.Name, archive); err != nil {
			return err
		}
	}
	return errors.New("too many files")
}

func copyFiles(from string, to *os.Root) error {
	files := os.DirFS(from)
	if _, err := fs.Stat(files, recording.AboutFile); err != nil {
		return fmt.Errorf("%w: %w", errNotRecorded, err)
	}
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return write(to, name, f)
	})
}

func write(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return cmp.Or(err, f.Close())
}
