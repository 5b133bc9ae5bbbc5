package scenarios

import "context"

func roleCommands() []command {
	return []command{
		{"roles without RESOURCE", "takes a resource, such as nodes, out of the rules of the ClusterRole of the daemon's account", func(a *arguments) action {
			resource := a.word("RESOURCE")
			return func(ctx context.Context, w *world) (err error) {
				w.restore, err = w.stack.RemovePermission(ctx, resource)
				return err
			}
		}},
		{"roles restored", "gives it back, as the end of a scenario does", func(*arguments) action {
			return func(ctx context.Context, w *world) error { return w.restored(ctx) }
		}},
	}
}

func (w *world) restored(ctx context.Context) error {
	if w.restore == nil {
		return nil
	}
	restore := w.restore
	w.restore = nil
	return restore(ctx)
}
