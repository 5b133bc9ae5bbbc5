package faults

import "github.com/vmware/govmomi/vim25/types"

// These bound what is kept of one vCenter. A vCenter has up to 45,000 registered VMs, 8,000 tags and 150,000
// associations of tags.
const (
	// MaxID is the length of the ID of an object, a tag or a category, in bytes.
	MaxID = 128
	// MaxVMs is the number of VMs, and of objects of one reading.
	MaxVMs = 100_000
	// MaxTags is the number of tags, and of categories, MaxAttached that of associations, and MaxTagName the length of
	// a name in bytes: a vCenter takes 256 characters.
	MaxTags     = 10_000
	MaxAttached = 150_000
	MaxTagName  = 1024
)

// These are the errors of answers that exceed a bound.
const (
	LongID      = RefusedAnswer("the ID of an object has more than 128 bytes: is it a vCenter that answers?")
	ManyObjects = RefusedAnswer("the vCenter reports more than 100,000 VMs or objects, and a vCenter has at most 45,000 VMs: it is not read")
	ManyTags    = RefusedAnswer("the vCenter reports more than 10,000 tags or categories, or more than 150,000 tags that are attached: they are not read")
	LongTagName = RefusedAnswer("the name of a tag or a category has more than 1,024 bytes: it is not read")
)

// CheckRef returns LongID for a reference that is longer than one of a vCenter.
func CheckRef(ref types.ManagedObjectReference) error {
	if max(len(ref.Type), len(ref.Value), len(ref.ServerGUID)) > MaxID {
		return LongID
	}
	return nil
}

// CheckTag returns what is too long of a tag or a category: its ID, or its name.
func CheckTag(id, name string) error {
	switch {
	case len(id) > MaxID:
		return LongID
	case len(name) > MaxTagName:
		return LongTagName
	}
	return nil
}
