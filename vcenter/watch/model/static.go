package model

import (
	"hash/maphash"
	"net/netip"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"vzones/vcenter/guestinfo"
)

var seed = maphash.MakeSeed()

// static is what is kept of a machine's metadata.
type static struct {
	// addresses are what was read last, none where that failed. known says that something was.
	addresses []netip.Addr
	known     bool
	// digest is that of the text that the machine has, readDigest that of the one that
	// was read. While they differ, text is the one that is to be read.
	digest, readDigest uint64
	text               string
}

func (s static) pending() bool { return s.digest != s.readDigest }

// follow records the text that a machine has now. It parses nothing.
func (s static) follow(value any) static {
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
		return static{known: true, digest: digest, readDigest: digest}
	}
	// What comes of a server's answer may be a part of something longer.
	s.digest, s.text = digest, strings.Clone(text)
	return s
}
