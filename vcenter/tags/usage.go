package tags

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
)

const (
	// usageFirst, usageEvery and usageSoon are when the vCenter is asked to what the tags
	// of regions and zones are attached, in refresh intervals: 2 minutes after tags were
	// first read, every 10 minutes, and every 2 minutes while something is wrong.
	usageFirst, usageEvery, usageSoon = 4, 20, 4
	// usageNamed is how many objects are named for each tag.
	usageNamed = 5
)

// A usage is to what tags are attached, wherever that is in the inventory.
type usage struct {
	vcenter string
	refresh time.Duration

	next       time.Time
	categories []string
	// lastErr is why the vCenter could not be asked last, as it was logged.
	lastErr string
	// uses are the answer to the last request that did not fail, seen what their objects are.
	uses []Use
	seen map[Ref]described
}

// due reports whether it is time to ask.
func (u *usage) due(categories []string) bool {
	now := time.Now()
	if !slices.Equal(categories, u.categories) || u.next.IsZero() {
		u.categories, u.uses, u.next = categories, nil, now.Add(usageFirst*u.refresh)
	}
	if len(categories) == 0 || now.Before(u.next) {
		return false
	}
	u.next = now.Add(usageEvery * u.refresh)
	return true
}

// asked logs why the vCenter could not be asked, once for each reason.
func (u *usage) asked(ctx context.Context, err error) {
	switch {
	case err == nil:
		u.lastErr = ""
	case ctx.Err() == nil && u.lastErr != err.Error():
		u.lastErr = err.Error()
		klog.FromContext(ctx).Info("Cannot see which objects tags are attached to; conflicts that depend on that may not be found", "err", faults.Printable{Err: err})
	}
}

// now returns what is known, but for what was read since.
func (u *usage) now(read Attachments) []topology.Tagged {
	var found []topology.Tagged
	for _, use := range u.uses {
		use.Objects = slices.DeleteFunc(slices.Clone(use.Objects), func(ref Ref) bool {
			has, err := read.Of(ref)
			return err == nil && !slices.Contains(has, topology.Tag{Category: use.Category, Name: use.Name})
		})
		if len(use.Objects) > 0 {
			found = append(found, u.tagged(use))
		}
	}
	soon := time.Now().Add(usageSoon * u.refresh)
	if u.next.After(soon) && slices.ContainsFunc(found, func(t topology.Tagged) bool { return len(t.NoHosts) > 0 }) {
		u.next = soon
	}
	return found
}

// tagged names those of a tag's objects below which there are no hosts. A folder that was
// not looked at does not count.
func (u *usage) tagged(use Use) topology.Tagged {
	t := topology.Tagged{VCenter: u.vcenter, Category: use.Category, Name: use.Name}
	for _, ref := range use.Objects {
		is, ok := u.seen[ref]
		switch {
		case topology.HasHosts(ref.Type, is.children), ref.Type == "Folder" && (!ok || len(is.children) == 0):
		case len(t.NoHosts) == usageNamed:
			t.Further++
		default:
			path := ref.Value
			if is.name != "" {
				path = fmt.Sprintf("%s (%s)", quote.Name(is.name), ref.Value)
			}
			t.NoHosts = append(t.NoHosts, &topology.Object{Ref: topology.Ref{VCenter: u.vcenter, Type: ref.Type, ID: ref.Value}, Name: is.name, Path: path})
		}
	}
	return t
}
