package vcenter

// outage holds the errors that were logged since a vCenter, or its tagging API, was last
// well. Errors that alternate while it is down are logged once each. The zero value is ready.
type outage map[string]bool

// maxOutageErrors bounds an outage whose errors are never the same.
const maxOutageErrors = 50

// begins reports whether an error was not logged in this outage, and counts it as logged.
func (o *outage) begins(err error) bool {
	text := err.Error()
	if (*o)[text] {
		return false
	}
	if *o == nil || len(*o) >= maxOutageErrors {
		*o = outage{}
	}
	(*o)[text] = true
	return true
}

// end forgets all errors and reports whether there were any.
func (o *outage) end() bool {
	ended := len(*o) > 0
	*o = nil
	return ended
}
