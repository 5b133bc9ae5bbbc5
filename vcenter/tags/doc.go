// Package tags reads which tags are attached to managed objects of one vCenter,
// from its tagging API, which is a service of its own beside SOAP.
//
// A [Client] makes the requests of that API. A [Reader] owns
// what is remembered between two readings: the names of tags and categories, the
// objects whose tags the account may not read, and the last error. What it could not read is unknown, with a reason: it never
// takes that for an object without tags. It logs what is wrong once for each
// change.
//
// The package starts no goroutine that outlives a call, and never logs in on its own: the session of the
// REST API does that.
package tags
