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

// LargeConfigurations restarts the watch to read each cluster's configuration separately.
const LargeConfigurations Restart = "a change to a single object is too large: reading the clusters' configurations one at a time"

// A clusterReader makes these requests. The model goroutine owns it.
type clusterReader struct {
	session   Session
	tree      *model.Tree
	enabled   bool
	rereadAll bool
}

// read reads configurations not read yet, or all if rereadAll is set. It records a too large one as unread.
func (r *clusterReader) read(ctx context.Context, objects []types.ManagedObjectReference) (changed bool, err error) {
	if !r.enabled {
		return false, nil
	}
	for _, ref := range objects {
		previous := r.tree.Property(ref, model.ClusterConfig)
		if ref.Type != "ClusterComputeResource" || previous != nil && !r.rereadAll {
			continue
		}
		if err := r.readOne(ctx, ref); err != nil {
			return changed, err
		}
		changed = changed || !reflect.DeepEqual(previous, r.tree.Property(ref, model.ClusterConfig))
	}
	r.rereadAll = false
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

func (r *clusterReader) separate(ctx context.Context, err error, groups bool, memory *Memory) error {
	if r.enabled || !groups || !errors.Is(err, session.LargeAnswer) {
		return err
	}
	memory.separateClusters = true
	klog.FromContext(ctx).Info("A change to a single object is too large; reading the clusters' configurations one at a time", "err", faults.Printable{Err: err})
	return LargeConfigurations
}
