package world

import (
	"context"
	"fmt"

	"vzones/cmd/vsphere-cloud-controller-manager/app/credentials"
	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/cmd/vzones/running"
	"vzones/vcenter"
	vccredentials "vzones/vcenter/credentials"
)

// readConfig reads the configuration, and returns what finds credentials.
func (w *World) readConfig(ctx context.Context, f *Flags) (*credentials.Finder, error) {
	files, err := readCredentials(f.Credentials)
	if err != nil {
		return nil, err
	}
	read := &reader{client: w.Client, files: files}
	finder := &credentials.Finder{Secrets: read}
	var from source.Source
	switch {
	case f.FromCluster:
		from, err = w.readDaemon(ctx, f, finder)
	default:
		from, err = source.New(f.Config, "", nil)
	}
	if err != nil {
		return nil, err
	}
	w.Source += from.String()
	w.Config, err = from.Read(ctx, read)
	return finder, err
}

// readDaemon finds the daemon in the cluster and returns where its configuration is. From then on
// files are those of its Pod.
func (w *World) readDaemon(ctx context.Context, f *Flags, finder *credentials.Finder) (source.Source, error) {
	d, err := running.Find(ctx, w.Client, running.Where{Namespace: f.Namespace, Selector: f.Selector})
	if err != nil {
		return source.Source{}, err
	}
	w.Daemon, w.Source = d, d.String()+": "
	from, err := source.New(d.CloudConfig, d.ConfigSecret, d.Environ)
	if err == nil {
		err = from.AddLabels(d.NodeLabels)
	}
	if err != nil {
		return source.Source{}, fmt.Errorf("%s: %w", d, err)
	}
	from.ReadFilesBy(func(path string, most int64) ([]byte, error) { return d.ReadFile(ctx, path, most) })
	finder.Directory = func(dir, server string) (vcenter.Credentials, error) {
		data, err := d.ReadDirectory(ctx, dir)
		if err != nil {
			return vcenter.Credentials{}, err
		}
		c, err := vccredentials.Find(data, server)
		if err != nil {
			err = fmt.Errorf("directory %s of %s: %w", dir, d, err)
		}
		return c, err
	}
	return from, nil
}
