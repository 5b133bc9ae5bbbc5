package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/faults"
	"vzones/vcenter/session"
)

const (
	// listRequestsMax bounds the requests for finding out which machines cannot be on
	// a list, where the vCenter refuses all that are added together.
	listRequestsMax = 64
	// tryRequestsMax is the same for machines that nothing but Nodes names. A few are
	// settled each time, however many there are.
	tryRequestsMax = 16
	// postponeTime is the pause after which the rest is tried.
	postponeTime = 5 * time.Second
)

// A listView is a list of machines on the server.
type listView struct {
	session Session
	ref     types.ManagedObjectReference
}

// notListed is what has not come onto a list: machines that are not there or cannot be
// seen, and those that were not tried.
type notListed struct {
	unresolved, untried []types.ManagedObjectReference
}

// create makes the list, which is empty.
func (l *listView) create(ctx context.Context) error {
	client := l.session.Client()
	res, err := methods.CreateListView(ctx, client, &types.CreateListView{This: *client.ServiceContent.ViewManager})
	if err != nil {
		return fmt.Errorf("making a list view: %w", err)
	}
	l.ref = res.Returnval
	l.session.Track(l.ref, session.DestroyView)
	return nil
}

// modify changes the list. Some vCenters return what they cannot list, others refuse the
// whole request: then it is repeated with halves, down to single machines.
func (l *listView) modify(ctx context.Context, add, remove []types.ManagedObjectReference) (not notListed, err error) {
	if not.unresolved, err = l.request(ctx, add, remove); err == nil || !l.refusesWhole(err) {
		return not, err
	}
	if len(remove) > 0 {
		// Those that have been deleted are no longer on the list.
		if _, err := l.request(ctx, nil, remove); err != nil && !l.refusesWhole(err) {
			return not, err
		}
	}
	parts := [][]types.ManagedObjectReference{add}
	if len(remove) == 0 {
		parts = halves(add)
	}
	return l.addParts(ctx, parts, listRequestsMax, l.refusesWhole)
}

// try adds what may not be machines at all: whatever fault that is answered with is taken
// for one of them.
func (l *listView) try(ctx context.Context, add []types.ManagedObjectReference) (notListed, error) {
	return l.addParts(ctx, [][]types.ManagedObjectReference{add}, tryRequestsMax, func(err error) bool { return answeredWithFault(l.session, err) })
}

// addParts adds parts, and halves of those that are refused.
func (l *listView) addParts(ctx context.Context, parts [][]types.ManagedObjectReference, most int, refused func(error) bool) (not notListed, err error) {
	for n := 0; len(parts) > 0; n++ {
		part := parts[0]
		parts = parts[1:]
		if len(part) == 0 {
			continue
		}
		if n >= most {
			not.untried = append(not.untried, part...)
			continue
		}
		unresolved, err := l.request(ctx, part, nil)
		switch {
		case err == nil:
			not.unresolved = append(not.unresolved, unresolved...)
		case !refused(err):
			return not, err
		case len(part) == 1:
			not.unresolved = append(not.unresolved, part...)
		default:
			parts = append(halves(part), parts...) // depth first, so that some are settled each time
		}
	}
	return not, nil
}

func halves(all []types.ManagedObjectReference) [][]types.ManagedObjectReference {
	if len(all) < 2 {
		return [][]types.ManagedObjectReference{all}
	}
	return [][]types.ManagedObjectReference{all[:len(all)/2], all[len(all)/2:]}
}

func (l *listView) request(ctx context.Context, add, remove []types.ManagedObjectReference) (unresolved []types.ManagedObjectReference, err error) {
	res, err := methods.ModifyListView(ctx, l.session.Client(), &types.ModifyListView{This: l.ref, Add: add, Remove: remove})
	if err != nil {
		return nil, err
	}
	return res.Returnval, nil
}

// refusesWhole reports whether a change of the list was refused because of one of the
// machines in it.
func (l *listView) refusesWhole(err error) bool {
	return !faults.SessionLost(l.session.Classify(err)) && (faults.Denied(err) || faults.Gone(err) || faults.Is[types.InvalidArgument](err))
}
