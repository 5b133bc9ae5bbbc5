package world

import (
	"context"

	"vzones/config"
	"vzones/vcenter"
)

// Configure reads the configuration alone. It contacts no vCenter, and Close has not to be called.
// The second result finds the credentials of a vCenter.
func Configure(ctx context.Context, f *Flags) (*World, func(context.Context, *config.VCenter) (vcenter.Credentials, error), error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	w := &World{}
	if err := w.connect(f); err != nil {
		return nil, nil, err
	}
	finder, err := w.readConfig(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	return w, finder.Find, nil
}
