package watch

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/watch/model"
)

// LargeConfigurations is for clusters whose configurations are read one by one from now on.
const LargeConfigurations Restart = "a change of a single object is too large: the configurations of clusters are read one by one"

// A clusterReader reads the configurations of clusters with a request for each, where the filter cannot report them:
// the configuration of one cluster is too large for an answer. It belongs to the goroutine of the model.
type clusterReader struct {
	session Session
	tree    *model.Tree
	// enabled reports whether the filter leaves out the configurations.
	enabled bool
	// due reports whether those that were read are read again.
	due bool
}

// read reads the configurations of those of the objects that are clusters, and reports whether any has changed. One
// that is too large is unknown.
func (r *clusterReader) read(ctx context.Context, objects []types.ManagedObjectReference) (changed bool, err error) {
	if !r.enabled {
		return false, nil
	}
	for _, ref := range objects {
		before := r.tree.Property(ref, model.ClusterConfig)
		if ref.Type != "ClusterComputeResource" || before != nil && !r.due {
			continue
		}
		if err := r.readOne(ctx, ref); err != nil {
			return changed, err
		}
		changed = changed || !reflect.DeepEqual(before, r.tree.Property(ref, model.ClusterConfig))
	}
	r.due = false
	return changed, nil
}

func (r *clusterReader) readOne(ctx context.Context, ref types.ManagedObjectReference) error {
	u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: ref}
	err := r.session.Retrieve(ctx, types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: ref.Type, PathSet: []string{model.ClusterConfig}}},
		ObjectSet: []types.ObjectSpec{{Obj: ref}},
	}, func(o *types.ObjectContent) {
		for _, p := range o.PropSet {
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Val: p.Val})
		}
		u.MissingSet = o.MissingSet
	})
	switch {
	case err == nil:
		r.tree.Apply(&u)
	case errors.Is(err, session.LargeAnswer), goneOrDenied(err):
		r.tree.SetUnread(ref, model.ClusterConfig, fmt.Errorf("the configuration of the cluster cannot be read: %w", faults.Printable{Err: err}))
	default:
		return fmt.Errorf("reading the configuration of a cluster: %w", err)
	}
	return nil
}

// separate has the next watch read the configurations of clusters one by one, if an error may be due to one of them,
// and returns the error of this watch.
func (r *clusterReader) separate(ctx context.Context, err error, groups bool, memory *Memory) error {
	if r.enabled || !groups || !errors.Is(err, session.LargeAnswer) {
		return err
	}
	memory.separateClusters = true
	klog.FromContext(ctx).Info("A change of a single object is too large; the configurations of clusters are read one by one", "err", faults.Printable{Err: err})
	return LargeConfigurations
}
