package world

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"vzones/cmd/vsphere-cloud-controller-manager/app/settings"
	"vzones/config"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/credentials"
)

// readConfig sets Config and Source, and returns the finder of credentials.
func (w *World) readConfig(ctx context.Context, f *Flags) (*settings.CredentialFinder, error) {
	files, err := readCredentials(f.Credentials)
	if err != nil {
		return nil, err
	}
	read := &reader{client: w.Client, clientErr: w.NoNodes, files: files, isUncached: w.isLive, read: map[config.SecretRef]func() (*v1.Secret, error){}}
	finder := &settings.CredentialFinder{Secrets: read}
	var configSource settings.Source
	if f.Config == "" {
		configSource, err = w.readDaemon(ctx, f, finder)
	} else {
		configSource, err = settings.NewSource(f.Config, "", nil)
		err = cmp.Or(err, configSource.AddLabels(f.NodeLabels))
	}
	if err != nil {
		return nil, err
	}
	w.Source += configSource.String()
	w.Config, err = configSource.Read(ctx, read)
	return finder, err
}

// readDaemon finds the daemon and returns the source of its configuration. Files are read from its Pod's
// volumes.
func (w *World) readDaemon(ctx context.Context, f *Flags, finder *settings.CredentialFinder) (settings.Source, error) {
	d, err := findDaemon(ctx, w.Client, cmp.Or(f.Overrides.Context.Namespace, metav1.NamespaceSystem))
	if err != nil {
		return settings.Source{}, err
	}
	w.Daemon = d
	w.Source = d.String() + ": "
	configSource, err := settings.NewSource(d.CloudConfig, d.ConfigSecret, d.Environ)
	if err == nil {
		err = configSource.AddLabels(d.NodeLabels)
	}
	if err != nil {
		return settings.Source{}, fmt.Errorf("%s: %w", d, err)
	}
	configSource.ReadFilesBy(func(path string, most int64) ([]byte, error) { return d.ReadFile(ctx, path, most) })
	finder.Directory = func(dir, server string) (vcenter.Credentials, error) {
		data, err := d.ReadDirectory(ctx, dir)
		if err != nil {
			return vcenter.Credentials{}, err
		}
		c, err := credentials.Find(data, server)
		if err != nil {
			err = fmt.Errorf("directory %s of %s: %w", dir, d, err)
		}
		return c, err
	}
	return configSource, nil
}

// reader reads Secrets from the files of --credentials, then from the cluster, and caches them.
type reader struct {
	client    kubernetes.Interface
	clientErr error
	files     []Manifest
	// isUncached makes Get read a Secret at each call.
	isUncached bool

	// mu guards read.
	mu   sync.Mutex
	read map[config.SecretRef]func() (*v1.Secret, error)
}

func readCredentials(files []string) ([]Manifest, error) {
	var secrets []Manifest
	for _, file := range files {
		data, err := config.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading --credentials: %w", err)
		}
		objects, err := ReadManifests(file, data)
		if err != nil {
			return nil, err
		}
		found := false
		for _, o := range objects {
			if o.Kind == KindSecret {
				secrets = append(secrets, o)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("--credentials: %s contains no Secret: use a file with the Secret's manifest", file)
		}
	}
	return secrets, nil
}

// Get returns a Secret. A manifest without a namespace matches every namespace.
func (r *reader) Get(ctx context.Context, ref config.SecretRef) (*v1.Secret, error) {
	for _, o := range r.files {
		if o.Ref.Name != ref.Name || o.Ref.Namespace != "" && o.Ref.Namespace != ref.Namespace {
			continue
		}
		data := make(map[string][]byte, len(o.Values))
		for _, v := range o.Values {
			data[v.Key] = []byte(v.Content.Reveal())
		}
		return &v1.Secret{Data: data}, nil
	}
	if r.client == nil {
		absent := apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ref.Name)
		return nil, topology.Errorf(absent, "Secret %s/%s cannot be read: %w; or use --credentials with a file that contains it", ref.Namespace, ref.Name, r.clientErr)
	}
	if r.isUncached {
		return r.client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	r.mu.Lock()
	read := r.read[ref]
	if read == nil {
		read = sync.OnceValues(func() (*v1.Secret, error) {
			data, err := readSecret(ctx, r.client, ref.Namespace, ref.Name)
			if apierrors.IsForbidden(err) {
				err = fmt.Errorf("%w, or use --credentials with a file that contains the Secret", err)
			}
			return &v1.Secret{Data: data}, err
		})
		r.read[ref] = read
	}
	r.mu.Unlock()
	return read()
}
