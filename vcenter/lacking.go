package vcenter

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
)

// tellLacking logs which of the configured datacenters are not there, once for each change.
func (w *watch) tellLacking(ctx context.Context) {
	lacking := ""
	if w.incomplete != nil {
		lacking = w.incomplete.Error()
	}
	if lacking != w.c.lacking && lacking != "" {
		klog.FromContext(ctx).Info("Not all of the configured datacenters are found; until they are, no machine counts as gone", "err", lacking)
	}
	w.c.lacking = lacking
}

func (w *watch) why() error {
	if w.incomplete == nil {
		return nil
	}
	return fmt.Errorf("vCenter %q: %w", w.c.name, w.incomplete)
}
