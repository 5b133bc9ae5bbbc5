package scenarios

import "context"

func roleCommands() []command {
	return []command{
		{"roles without RESOURCE", "removes a resource, such as nodes, from the rules of the daemon's ClusterRole", func(a *arguments) action {
			resource := a.word("RESOURCE")
			return func(ctx context.Context, w *world) (err error) {
				w.restore, err = w.stack.RemovePermission(ctx, resource)
				return err
			}
		}},
		{"roles restored", "restores the ClusterRole, as the end of a scenario does", func(*arguments) action {
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
