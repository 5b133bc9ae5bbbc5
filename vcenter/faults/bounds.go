package faults

import "github.com/vmware/govmomi/vim25/types"

// These bound the memory for one vCenter, which supports 45,000 registered VMs, 8,000 tags and
// 150,000 tag associations.
const (
	// MaxID is the length of an object's, tag's or category's ID, in bytes.
	MaxID = 128
	// MaxVMs bounds the VMs, and the objects of one read.
	MaxVMs = 100_000
	// MaxTags bounds the tags and the categories, MaxAttached the associations. MaxTagName is in
	// bytes; vCenter allows 256 characters.
	MaxTags     = 10_000
	MaxAttached = 150_000
	MaxTagName  = 1024
)

// These are the errors for exceeded bounds.
const (
	LongID      = RejectedAnswer("an object ID has more than 128 bytes: check that the server is a vCenter")
	ManyObjects = RejectedAnswer("the vCenter reports more than 100,000 VMs or objects, but a vCenter supports at most 45,000 VMs: it is not read")
	ManyTags    = RejectedAnswer("the vCenter reports more than 10,000 tags or categories, or more than 150,000 attached tags: they are not read")
	LongTagName = RejectedAnswer("the name of a tag or a category has more than 1,024 bytes: it is not read")
)

// CheckRef returns LongID if a part of the reference exceeds MaxID.
func CheckRef(ref types.ManagedObjectReference) error {
	if max(len(ref.Type), len(ref.Value), len(ref.ServerGUID)) > MaxID {
		return LongID
	}
	return nil
}

// CheckTag returns LongID or LongTagName for a tag or category that exceeds its bound.
func CheckTag(id, name string) error {
	switch {
	case len(id) > MaxID:
		return LongID
	case len(name) > MaxTagName:
		return LongTagName
	}
	return nil
}
