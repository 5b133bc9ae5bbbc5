package vcenter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"vzones/topology"
	"vzones/topology/quote"
	"vzones/vcenter/faults"
	"vzones/vcenter/session"
	"vzones/vcenter/tags"
)

const (
	// surveyFirst, surveyEvery and surveySoon are when the vCenter is asked to what the tags
	// of regions and zones are attached, in refresh intervals: 2 minutes after tags were
	// first read, every 10 minutes, and every 2 minutes while something is wrong.
	surveyFirst, surveyEvery, surveySoon = 4, 20, 4
	// surveyNamed is how many objects are named for each tag, and surveyRead bounds those
	// that are looked at in one survey.
	surveyNamed = 5
	surveyRead  = 200
)

// A surveyor asks to what tags are attached, wherever that is in the inventory. It belongs
// to the goroutine that reads tags, and outlives watches.
type surveyor struct {
	next       time.Time
	categories []string
	// trouble is why the last survey failed, as it was logged.
	trouble string
	// uses are what the last one that did not fail has found, seen what its objects are.
	uses []tags.Use
	seen map[tags.Ref]described
}

// survey returns to what the tags of these categories are attached, which is asked now and
// then. What cannot be asked is as it was, and what was just read counts as it is now.
func (r *tagReader) survey(ctx context.Context, s *session.Session, categories []string, now tags.Attachments) []topology.Tagged {
	r.resurvey(ctx, s, categories)
	var found []topology.Tagged
	for _, use := range r.surveyor.uses {
		use.Objects = slices.DeleteFunc(slices.Clone(use.Objects), func(ref tags.Ref) bool {
			has, err := now.Of(ref)
			return err == nil && !slices.Contains(has, topology.Tag{Category: use.Category, Name: use.Name})
		})
		if len(use.Objects) > 0 {
			found = append(found, r.tagged(use))
		}
	}
	if r.surveyor.next.After(time.Now().Add(surveySoon*r.refresh)) && slices.ContainsFunc(found, func(t topology.Tagged) bool { return len(t.NoHosts) > 0 }) {
		r.surveyor.next = time.Now().Add(surveySoon * r.refresh)
	}
	return found
}

// resurvey asks if it is time to.
func (r *tagReader) resurvey(ctx context.Context, s *session.Session, categories []string) {
	now, refresh := time.Now(), r.refresh
	v := &r.surveyor
	if !slices.Equal(categories, v.categories) || v.next.IsZero() {
		v.categories, v.uses, v.next = categories, nil, now.Add(surveyFirst*refresh)
	}
	if len(categories) == 0 || now.Before(v.next) {
		return
	}
	v.next = now.Add(surveyEvery * refresh)
	uses, seen, err := r.ask(ctx, s, categories)
	if err != nil {
		if ctx.Err() == nil && v.trouble != err.Error() {
			v.trouble = err.Error()
			klog.FromContext(ctx).Info("Cannot see to which objects tags are attached; conflicts that rest on that may not be found", "err", faults.Printable{Err: err})
		}
		return
	}
	v.uses, v.seen, v.trouble = uses, seen, ""
}

func (r *tagReader) ask(ctx context.Context, s *session.Session, categories []string) (uses []tags.Use, seen map[tags.Ref]described, err error) {
	err = s.Tagging().With(ctx, func(service tags.Service) (err error) {
		uses, err = r.Survey(ctx, service, categories)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var odd []tags.Ref
	for _, use := range uses {
		for _, ref := range use.Objects {
			if !topology.HasHosts(ref.Type, nil) && !slices.Contains(odd, ref) && len(odd) < surveyRead {
				odd = append(odd, ref)
			}
		}
	}
	seen, err = describe(ctx, s, odd)
	return uses, seen, err
}

// tagged leaves of a tag's objects those below which are no hosts. A folder that was not
// looked at is none of them.
func (r *tagReader) tagged(use tags.Use) topology.Tagged {
	t := topology.Tagged{VCenter: r.vcenter, Category: use.Category, Name: use.Name}
	for _, ref := range use.Objects {
		is, ok := r.surveyor.seen[ref]
		switch {
		case topology.HasHosts(ref.Type, is.children), ref.Type == "Folder" && (!ok || len(is.children) == 0):
		case len(t.NoHosts) == surveyNamed:
			t.Further++
		default:
			path := ref.Value
			if is.name != "" {
				path = fmt.Sprintf("%s (%s)", quote.Name(is.name), ref.Value)
			}
			t.NoHosts = append(t.NoHosts, &topology.Object{Ref: topology.Ref{VCenter: r.vcenter, Type: ref.Type, ID: ref.Value}, Name: is.name, Path: path})
		}
	}
	return t
}

// described is what is read of an object that has a tag.
type described struct {
	name     string
	children []string
}

// inventoryTypes are the types that SOAP knows. Tags may be attached to others too.
var inventoryTypes = []string{
	"Folder", "ResourcePool", "VirtualApp", "VirtualMachine", "Network", "OpaqueNetwork",
	"DistributedVirtualPortgroup", "DistributedVirtualSwitch", "VmwareDistributedVirtualSwitch", "StoragePod",
}

// describe reads the names of objects, and what may be in folders.
func describe(ctx context.Context, s *session.Session, refs []tags.Ref) (map[tags.Ref]described, error) {
	var spec types.PropertyFilterSpec
	for _, kind := range inventoryTypes {
		before := len(spec.ObjectSet)
		for _, ref := range refs {
			if ref.Type == kind {
				spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
			}
		}
		if len(spec.ObjectSet) == before {
			continue
		}
		read := types.PropertySpec{Type: kind, PathSet: []string{"name"}}
		if kind == "Folder" {
			read.PathSet = append(read.PathSet, "childType")
		}
		spec.PropSet = append(spec.PropSet, read)
	}
	if len(spec.ObjectSet) == 0 {
		return nil, nil
	}
	seen := make(map[tags.Ref]described, len(refs))
	err := s.Retrieve(ctx, spec, func(o *types.ObjectContent) {
		var d described
		for _, p := range o.PropSet {
			switch value := p.Val.(type) {
			case string:
				d.name = value
			case types.ArrayOfString:
				d.children = value.String
			}
		}
		seen[o.Obj] = d
	})
	if err != nil {
		return nil, fmt.Errorf("reading the names of objects with tags: %w", err)
	}
	return seen, nil
}
