package vcenter

import "vzones/vcenter/tags"

// newTagReader returns the reader of an actor, which shares the names that it reads.
func newTagReader(h *handle, opts timing) *tags.Reader {
	r := newOwnTagReader(h, opts)
	r.Share(&h.tagNames)
	return r
}

func newOwnTagReader(h *handle, opts timing) *tags.Reader {
	// Half of the requests that may be in flight stay free for SOAP, which answers when
	// the tagging service does not.
	return tags.NewReader(h.name, opts.tagRefresh, max(1, opts.inFlight/2))
}
