package world

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"vzones/cmd/vsphere-cloud-controller-manager/app/secrets"
	"vzones/cmd/vsphere-cloud-controller-manager/app/source"
	"vzones/config"
)

// readConfig reads the configuration.
func (w *World) readConfig(ctx context.Context, f *Flags, read reader) error {
	if f.FromCluster {
		return errors.New("--from-cluster is not built yet")
	}
	from, err := source.New(f.Config, "", nil)
	if err != nil {
		return errors.New("there is no configuration: write --config FILE, or --from-cluster")
	}
	w.Source = from.String()
	w.Config, err = from.Read(ctx, read)
	return err
}

// A reader reads Secrets, once each time.
type reader struct{ w *World }

// Get returns the data of a Secret.
func (r reader) Get(ctx context.Context, ref config.SecretRef) (map[string][]byte, error) {
	if r.w.Client == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ref.Name)
	}
	return secrets.Once{Client: r.w.Client}.Get(ctx, ref)
}
