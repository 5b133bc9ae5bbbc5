package model

import "fmt"

// A Problem is something of a guest's that does not count, for a reason; it counts if Err
// is nil.
type Problem struct {
	// Subject is what it is about, What a sentence for the log.
	Subject, What string
	Err           error
}

// The subjects of problems.
const (
	OfMetadata = "metadata"
	OfReport   = "report"
	OfHostName = "host name"
)

// problems returns the problem of each subject.
func (p properties) problems() []Problem {
	var name error
	if n, odd := p[GuestHostName].(oddName); odd {
		name = fmt.Errorf("it has %d bytes; a host name has letters, digits, hyphens, underscores and dots, and at most %d of them", int(n), maxHostName)
	}
	return []Problem{
		{Subject: OfMetadata, What: "The addresses in the machine's guestinfo.metadata do not count", Err: p.static().unreadable},
		{Subject: OfReport, What: "The addresses that the machine's guest reports do not count", Err: p.report().refused},
		{Subject: OfHostName, What: "The host name that the machine's guest reports does not count", Err: name},
	}
}
