package vcenter

import (
	"context"

	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/tags"
)

// A TagUsage is to what the tags of some categories are attached in one vCenter.
type TagUsage struct {
	VCenter string
	Tagged  []topology.Tagged
	// Err says why that is not known. It is nil for a vCenter that is not logged in to, whose
	// State says why.
	Err error
}

// TagUsage asks each vCenter that is logged in to, all side by side, to what the tags of
// categories are attached, wherever in the inventory. Snapshots have the same only minutes
// after the start. The result is in the order of the configuration.
func (f *Fleet) TagUsage(ctx context.Context, categories []string) []TagUsage {
	members := *f.members.Load()
	all := make([]TagUsage, len(members))
	var g errgroup.Group
	for i, m := range members {
		all[i].VCenter = m.name
		s := m.session()
		if s == nil || len(categories) == 0 {
			continue
		}
		g.Go(func() error {
			err := m.guard.Run(ctx, "reading to what tags are attached", func() (err error) {
				all[i].Tagged, err = newTagReader(m.name, f.timing).Tagged(ctx, tags.NewTagging(s.REST()), s, categories)
				return err
			})
			if err != nil {
				all[i].Err = faults.Printable{Err: err}
			}
			return nil
		})
	}
	_ = g.Wait()
	return all
}
