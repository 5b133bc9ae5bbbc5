package model

import (
	"hash/maphash"
	"iter"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
)

var seed = maphash.MakeSeed()

// metadataAddresses is what is kept of a machine's metadata.
type metadataAddresses struct {
	// addresses are what was read last, none where that failed. known says that something was.
	addresses []netip.Addr
	known     bool
	// digest is that of the text that the machine has, readDigest that of the one that
	// was read. While they differ, text is the one that is to be read.
	digest, readDigest uint64
	text               string
}

func (s metadataAddresses) pending() bool { return s.digest != s.readDigest }

// follow records the text that a machine has now. It parses nothing.
func (s metadataAddresses) follow(value any) metadataAddresses {
	if option, whole := value.(types.OptionValue); whole {
		value = option.Value
	}
	text, _ := value.(string)
	digest := maphash.String(seed, text)
	switch {
	case digest == s.digest:
		return s
	case digest == s.readDigest: // again
		s.digest, s.text = digest, ""
		return s
	case text == "", len(text) > guestinfo.MaxEncoded:
		return metadataAddresses{known: true, digest: digest, readDigest: digest}
	}
	// What comes of a server's answer may be a part of something longer.
	s.digest, s.text = digest, strings.Clone(text)
	return s
}

// A Text is the metadata of a machine, which a guest or its owner writes.
type Text struct {
	Machine types.ManagedObjectReference
	// Digest tells texts of a machine apart.
	Digest uint64
	Text   string
}

// A Reading is what a text says: addresses, or why they cannot be read.
type Reading struct {
	Machine   types.ManagedObjectReference
	Digest    uint64
	Addresses []netip.Addr
	Err       error
}

// metadataRead returns what was read of the metadata of the machines in a tree.
func (t *Tree) metadataRead() map[types.ManagedObjectReference]metadataAddresses {
	read := map[types.ManagedObjectReference]metadataAddresses{}
	for ref, p := range t.objects {
		if s := p.metadataAddresses(); s.known {
			s.digest, s.text = s.readDigest, ""
			read[ref] = s
		}
	}
	return read
}

// metadata returns what is known of a machine's metadata, now or from the watch before.
func (t *Tree) metadata(ref types.ManagedObjectReference) metadataAddresses {
	s, known := t.objects[ref][GuestMetadata].(metadataAddresses)
	if !known {
		s = t.earlier[ref]
		delete(t.earlier, ref)
	}
	return s
}

// PendingMetadata returns the texts that are to be read.
func (t *Tree) PendingMetadata() iter.Seq[Text] {
	return func(yield func(Text) bool) {
		for ref, p := range t.objects {
			if s := p.metadataAddresses(); s.pending() && !yield(Text{ref, s.digest, s.text}) {
				return
			}
		}
	}
}

// TakeMetadata applies what was read of a machine's metadata, if it still has that
// text, and reports whether it has.
func (t *Tree) TakeMetadata(r Reading) bool {
	p := t.objects[r.Machine]
	if p == nil || p.metadataAddresses().digest != r.Digest {
		return false
	}
	p[GuestMetadata] = metadataAddresses{addresses: r.Addresses, known: true, digest: r.Digest, readDigest: r.Digest}
	return true
}

// HasUnreadMetadata reports whether there is metadata of which nothing was ever read.
func (t *Tree) HasUnreadMetadata() bool {
	for _, p := range t.objects {
		if s := p.metadataAddresses(); s.pending() && !s.known {
			return true
		}
	}
	return false
}
