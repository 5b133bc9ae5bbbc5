package vcenter

import (
	"context"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/vcenter/faults"
	"vzones/vcenter/privileges"
	"vzones/vcenter/session"
	"vzones/vcenter/survey"
	"vzones/vcenter/tags"
)

// Survey reads what a query asks for from each vCenter, all side by side, through the sessions that
// are open. It returns one Survey for each, in the order of the configuration. That of a vCenter
// that is not logged in to has an error.
func (f *Fleet) Survey(ctx context.Context, q survey.Query) []survey.Survey {
	members := *f.members.Load()
	all := make([]survey.Survey, len(members))
	var g errgroup.Group
	for i, m := range members {
		g.Go(func() error {
			err := m.guard.Run(ctx, "surveying the vCenter", func() (err error) {
				all[i], err = f.surveyOf(ctx, m, q)
				return err
			})
			if err != nil {
				all[i] = survey.Survey{VCenter: m.name, Err: err}
			}
			return nil
		})
	}
	_ = g.Wait()
	return all
}

func (f *Fleet) surveyOf(ctx context.Context, m member, q survey.Query) (survey.Survey, error) {
	s := m.session()
	if s == nil {
		if err := m.status.Load().state.Err; err != nil {
			return survey.Survey{}, err
		}
		return survey.Survey{}, topology.Errorf(topology.ErrUnknown, "vCenter %q is not logged in to", m.name)
	}
	// The watch has the session of the tagging API that belongs to s.
	own := s.NewREST()
	defer closeOwn(ctx, m, &f.timing, own)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // of a login that is under way
	t := m.target
	reader := newOwnTagReader(m.handle, f.timing)
	reader.StartWith(&m.tagNames)
	return survey.Read(ctx, survey.Source{
		VCenter: m.name, Session: s, Tagging: tags.NewTagging(own), Tags: reader,
		Uses: privileges.Uses{Tags: t.tags, Paths: t.tagRequirements.Paths, HostGroups: t.groups, FaultDomains: t.domains},
	}, q), nil
}

// closeOwn ends a session of the REST API, also when the context is done.
func closeOwn(ctx context.Context, m member, opts *timing, r *session.REST) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.logoutTimeout)
	defer cancel()
	_ = m.guard.Run(ctx, "logging out", func() error {
		if err := r.Close(ctx); err != nil {
			klog.FromContext(ctx).Error(faults.Printable{Err: err}, "Cannot log out; the session ends when it has been idle for long enough", "vCenter", m.name)
		}
		return nil
	})
}
