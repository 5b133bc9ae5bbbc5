// Package tags reads the tags of managed objects from the tagging API of one vCenter, which is a
// service apart from SOAP.
//
// A [Client] makes the requests. A [Reader] keeps names of tags and categories, unreadable objects and
// the last error between reads, and logs each change once. If tags cannot be read, they are unknown,
// with a reason; they are never reported as absent.
package tags
