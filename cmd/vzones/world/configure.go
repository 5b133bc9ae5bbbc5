package world

import "context"

// Configure reads the configuration alone. It contacts no vCenter, and Close has not to be called.
func Configure(ctx context.Context, f *Flags) (*World, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	w := &World{}
	if err := w.connect(f); err != nil {
		return nil, err
	}
	if _, err := w.readConfig(ctx, f); err != nil {
		return nil, err
	}
	return w, nil
}
