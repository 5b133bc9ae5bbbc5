package world

import (
	"context"

	"vzones/cmd/vsphere-cloud-controller-manager/app/credentials"
	"vzones/config"
	"vzones/vcenter"
)

// Configure reads the configuration alone. It contacts no vCenter, and Close has not to be called.
// The second result finds the credentials of a vCenter.
func Configure(ctx context.Context, f *Flags) (*World, func(context.Context, *config.VCenter) (vcenter.Credentials, error), error) {
	w := &World{}
	if err := w.connect(f); err != nil {
		return nil, nil, err
	}
	read := reader{w}
	if err := w.readConfig(ctx, f, read); err != nil {
		return nil, nil, err
	}
	return w, (&credentials.Finder{Secrets: read}).Find, nil
}
