package model

import "fmt"

// A Problem is what of a guest's reports may not count.
type Problem string

// The problems there can be.
const (
	OfMetadata Problem = "metadata"
	OfReport   Problem = "report"
	OfHostName Problem = "host name"
)

// problems returns why something of the guest's does not count, nil for what does.
func (p properties) problems() map[Problem]error {
	var name error
	if n, odd := p[GuestHostName].(oddName); odd {
		name = fmt.Errorf("it has %d bytes; a host name has letters, digits, hyphens, underscores and dots, and at most %d of them", int(n), maxHostName)
	}
	return map[Problem]error{OfMetadata: p.static().unreadable, OfReport: p.report().refused, OfHostName: name}
}
