package vcenter

import (
	"context"

	"golang.org/x/sync/errgroup"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

// A TagTrial is what a vCenter answers about tags beyond those above machines.
type TagTrial struct {
	VCenter string
	// Tagged is to what the tags of the categories are attached, wherever in the inventory.
	// TaggedErr says why that is not known.
	Tagged    []topology.Tagged
	TaggedErr error
}

// TryTags asks each vCenter that is logged in to, all side by side, for what a watch asks for only
// some time after its start: to what tags are attached. Without categories it asks nothing. The result is in the order of the configuration; a
// vCenter that is not logged in to has an empty one.
func (f *Fleet) TryTags(ctx context.Context, categories []string) []TagTrial {
	members := *f.members.Load()
	all := make([]TagTrial, len(members))
	var g errgroup.Group
	for i, m := range members {
		all[i].VCenter = m.name
		if s := m.session(); s != nil && len(categories) > 0 {
			g.Go(func() error {
				f.tryTags(ctx, m, s, categories, &all[i])
				return nil
			})
		}
	}
	_ = g.Wait()
	return all
}

func (f *Fleet) tryTags(ctx context.Context, m member, s *session.Session, categories []string, into *TagTrial) {
	own := s.NewREST() // the watch has the session of the tagging API that belongs to s
	defer closeOwn(ctx, m, &f.timing, own)
	err := m.guard.Run(ctx, "reading to what tags are attached", func() (err error) {
		reader := newOwnTagReader(m.handle, f.timing)
		reader.StartWith(&m.tagNames)
		into.Tagged, err = reader.Tagged(ctx, tags.NewTagging(own), s, categories)
		return err
	})
	if err != nil {
		into.TaggedErr = faults.Printable{Err: err}
	}
}
