package faults

// An Outage holds the errors that were logged since a vCenter, or its tagging API, was last
// well. Errors that alternate while it is down are logged once each. The zero value is ready.
type Outage map[string]bool

// maxOutageErrors bounds an outage whose errors are never the same.
const maxOutageErrors = 50

// Begins reports whether an error was not logged in this outage, and counts it as logged.
func (o *Outage) Begins(err error) bool {
	text := err.Error()
	if (*o)[text] {
		return false
	}
	if *o == nil || len(*o) >= maxOutageErrors {
		*o = Outage{}
	}
	(*o)[text] = true
	return true
}

// End forgets all errors and reports whether there were any.
func (o *Outage) End() bool {
	ended := len(*o) > 0
	*o = nil
	return ended
}
