package placement

import (
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"vzones/config"
	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// ErrDetaching means that the absence of the VM is confirmed, but its volumes are not yet detached.
var ErrDetaching = errors.New("the VM is gone and its volumes are being detached")

// detachTimeout is the longest time for which a Node is kept for its volumes.
const detachTimeout = time.Minute

// TaintAction is the change of vzones' out-of-service taint on a Node. Another client's taint always stays.
type TaintAction int

// The actions.
const (
	// KeepTaint: the facts do not decide, for example after a restart of the daemon.
	KeepTaint TaintAction = iota
	AddTaint
	RemoveTaint
)

// An Absence is the result of CheckAhead.
type Absence struct {
	// IsAbsent means that no snapshot contains the VM and that all conditions of a deletion are met, except those that need
	// a direct search.
	IsAbsent bool
	// Err is the reason why the Node is kept, or nil.
	Err   error
	Taint TaintAction
	// Evidence is the reason for the action.
	Evidence string
}

func (c *Checker) isTaintEnabled() bool {
	return c.placer.Config().OutOfService == config.OutOfServiceGone
}

// checkDetached returns ErrDetaching while a Node whose VM is gone is kept for its volumes.
func (c *Checker) checkDetached(q *deletion) error {
	since, isWitnessed := c.confirmer.goneSince(q)
	taint, _ := nodeinfo.OutOfServiceTaint(q.node)
	if !c.isTaintEnabled() || taint == nil && !isWitnessed {
		return nil
	}
	if taint != nil && taint.TimeAdded != nil && taint.TimeAdded.Time.Before(since) {
		since = taint.TimeAdded.Time
	}
	until := since.Add(detachTimeout)
	switch {
	case !until.After(time.Now()):
		return nil
	case taint == nil:
		return fmt.Errorf("%w: the taint %s is being added", ErrDetaching, v1.TaintNodeOutOfService)
	case len(q.node.Status.VolumesAttached) > 0:
		return fmt.Errorf("%w: the Node is deleted once they are detached, at the latest at %s", ErrDetaching, until.UTC().Format("15:04:05 MST"))
	}
	return nil
}

// goneSince returns the time at which a search first confirmed the absence, or now. isWitnessed reports whether the kubelet
// is silent now and this daemon, in an uninterrupted watch, saw the VM's managed object disappear from a connected host. A
// VM that is absent but not witnessed may still run, on a host removed from its vCenter or after its vCenter was restored
// from a backup.
func (c *confirmer) goneSince(q *deletion) (since time.Time, isWitnessed bool) {
	c.memories.Lock()
	defer c.memories.Unlock()
	k := memoryOf(c.memories, q.node.UID)
	since = time.Now()
	if k.absence != nil && !k.absence.successful.IsZero() {
		since = k.absence.successful
	}
	home := inventory.StateOf(q.states, k.lastSeen.VCenter)
	isWatched := !k.witnessed.IsZero() && k.witnessed.Equal(home.WatchedSince)
	return since, isWatched && nodeinfo.IsSilent(q.node) && inventory.HomeIsGone(q.states, q.id)
}

// taintAction returns the taint action for a result of Checker.decide, and the reason.
func (c *Checker) taintAction(q *deletion, absent bool, err error) (TaintAction, string) {
	switch {
	case !c.isTaintEnabled():
		return RemoveTaint, "the key nodes.outOfService is set to never"
	case !nodeinfo.IsSilent(q.node):
		return RemoveTaint, "the kubelet reports its status again"
	case absent && (err == nil || errors.Is(err, ErrDetaching)):
		if _, isWitnessed := c.confirmer.goneSince(q); !isWitnessed {
			return KeepTaint, ""
		}
		return AddTaint, q.evidence()
	case isPending(q.states, err):
		return KeepTaint, ""
	}
	evidence := err.Error()
	if vms := inventory.ListVMs(q.states, q.id); errors.Is(err, errExists) && vms != "" {
		evidence += ": " + vms
	}
	return RemoveTaint, evidence
}

// evidence names the searched vCenters and the former location of an absent VM.
func (q *deletion) evidence() string {
	names := make([]string, len(q.states))
	for i, s := range q.states {
		names[i] = quote.Value(s.VCenter)
	}
	vcenter, id := q.id.LastSeen.VCenter, q.id.LastSeen.ID
	if q.id.Recorded.VCenter != "" {
		vcenter, id = q.id.Recorded.VCenter, q.id.Recorded.ID
	}
	formerVM := topology.Ref{VCenter: vcenter, Type: "VirtualMachine", ID: id}.Located("")
	searched := "vCenter"
	if len(names) > 1 {
		searched = "vCenters"
	}
	return fmt.Sprintf("no VM has %s: searched %s %s; %s, which was the VM, does not exist", q.id, searched, quote.Some(names, quote.Most), formerVM)
}

// isPending reports whether err will resolve without an action: every vCenter answers in time, and at least one either is
// still being read, asked or searched, or has its answer that a VM is absent held back (inventory.ErrHeld).
func isPending(states []inventory.State, err error) bool {
	isRead := true
	for _, s := range states {
		if s.Err != nil && s.Cause != inventory.CausePending || s.Overdue {
			return false
		}
		isRead = isRead && s.Snapshot != nil && s.Err == nil
	}
	var notShown *inventory.NotShown
	switch {
	case errors.As(err, &notShown):
		return notShown.Reply == inventory.Unasked
	case errors.Is(err, ErrConfirming), errors.Is(err, inventory.ErrHeld):
		return true
	}
	isContradicted := errors.Is(err, inventory.ErrUnreadable) || errors.Is(err, inventory.ErrOutside) || errors.Is(err, errExists) || errors.Is(err, errDisabled)
	return !isRead && errors.Is(err, topology.ErrUnknown) && !isContradicted
}
