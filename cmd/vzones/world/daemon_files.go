package world

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"vzones/config"
)

// volume contains the files of a volume by their path within it, or the reason that it cannot be read.
type volume struct {
	files map[string][]byte
	err   error
}

// ReadFile reads a file of the container from the ConfigMap or Secret that is mounted at its path. The
// error wraps fs.ErrNotExist if there is no such file.
func (d *Daemon) ReadFile(ctx context.Context, name string, maxSize int64) ([]byte, error) {
	files, relPath, err := d.mounted(ctx, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	data, ok := files[relPath]
	switch {
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case int64(len(data)) > maxSize:
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: it has %d bytes, the limit is %d", config.ErrTooLarge, len(data), maxSize)}
	}
	return data, nil
}

// ReadDirectory returns the files of a directory of the container by name, with the same errors as
// ReadFile.
func (d *Daemon) ReadDirectory(ctx context.Context, name string) (map[string][]byte, error) {
	files, relPath, err := d.mounted(ctx, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	entries := map[string][]byte{}
	for file, data := range files {
		if dir, base := path.Split(file); path.Clean("/"+dir) == path.Clean("/"+relPath) {
			entries[base] = data
		}
	}
	if len(entries) == 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return entries, nil
}

// mounted returns the files of the volume that is mounted at a path, and the path within the volume.
func (d *Daemon) mounted(ctx context.Context, name string) (files map[string][]byte, relPath string, err error) {
	name = path.Clean(name)
	var mount *v1.VolumeMount
	for i := range d.container.VolumeMounts {
		m := &d.container.VolumeMounts[i]
		if isWithin(name, m.MountPath) && (mount == nil || len(path.Clean(m.MountPath)) > len(path.Clean(mount.MountPath))) {
			mount = m
		}
	}
	if mount == nil {
		return nil, "", fmt.Errorf("%s mounts no volume there, and the files of its image cannot be read from here: use --config with a local copy: %w", d, fs.ErrNotExist)
	}
	if mount.SubPathExpr != "" {
		return nil, "", fmt.Errorf("volume %s of %s is mounted at %s, which cannot be expanded here: use --config with a local copy", mount.Name, d, mount.SubPathExpr)
	}
	v := d.readVolume(ctx, mount.Name)
	rest := strings.TrimPrefix(strings.TrimPrefix(name, path.Clean(mount.MountPath)), "/")
	return v.files, path.Join(mount.SubPath, rest), v.err
}

func isWithin(name, dir string) bool {
	dir = path.Clean(dir)
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

func (d *Daemon) readVolume(ctx context.Context, name string) volume {
	if v, read := d.volumes[name]; read {
		return v
	}
	v := volume{files: map[string][]byte{}}
	for i := range d.pod.Spec.Volumes {
		podVolume := &d.pod.Spec.Volumes[i]
		if podVolume.Name != name {
			continue
		}
		var sources []v1.VolumeProjection
		switch {
		case podVolume.ConfigMap != nil:
			sources = []v1.VolumeProjection{{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: podVolume.ConfigMap.LocalObjectReference, Items: podVolume.ConfigMap.Items, Optional: podVolume.ConfigMap.Optional}}}
		case podVolume.Secret != nil:
			named := v1.LocalObjectReference{Name: podVolume.Secret.SecretName}
			sources = []v1.VolumeProjection{{Secret: &v1.SecretProjection{LocalObjectReference: named, Items: podVolume.Secret.Items, Optional: podVolume.Secret.Optional}}}
		case podVolume.Projected != nil:
			sources = podVolume.Projected.Sources
		default:
			v.err = fmt.Errorf("volume %s of %s is neither a ConfigMap nor a Secret and cannot be read from here: use --config with a local copy", name, d)
		}
		for _, s := range sources {
			var data map[string][]byte
			var items []v1.KeyToPath
			var err error
			switch {
			case s.ConfigMap != nil:
				data, err = d.configMap(ctx, s.ConfigMap.Name, s.ConfigMap.Optional)
				items = s.ConfigMap.Items
			case s.Secret != nil:
				data, err = d.secret(ctx, s.Secret.Name, s.Secret.Optional)
				items = s.Secret.Items
			}
			v.err = errors.Join(v.err, err)
			addKeys(v.files, data, items)
		}
	}
	d.volumes[name] = v
	return v
}

func addKeys(to, data map[string][]byte, items []v1.KeyToPath) {
	if len(items) == 0 {
		for key, value := range data {
			to[key] = value
		}
	}
	for _, item := range items {
		if value, there := data[item.Key]; there {
			to[path.Clean(item.Path)] = value
		}
	}
}

func (d *Daemon) configMap(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	m, err := d.client.CoreV1().ConfigMaps(d.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, unlessOptional(optional, fmt.Errorf("reading ConfigMap %s/%s: %w", d.Namespace, name, err))
	}
	data := make(map[string][]byte, len(m.Data)+len(m.BinaryData))
	for key, value := range m.Data {
		data[key] = []byte(value)
	}
	maps.Copy(data, m.BinaryData)
	return data, nil
}

func (d *Daemon) secret(ctx context.Context, name string, optional *bool) (map[string][]byte, error) {
	data, err := readSecret(ctx, d.client, d.Namespace, name)
	return data, unlessOptional(optional, err)
}

// unlessOptional drops a NotFound error of an optional object.
func unlessOptional(optional *bool, err error) error {
	if optional != nil && *optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func readSecret(ctx context.Context, client kubernetes.Interface, namespace, name string) (map[string][]byte, error) {
	s, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("reading Secret %s/%s: %w: use an account that may get it", namespace, name, err)
	case err != nil:
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
	}
	return s.Data, nil
}
