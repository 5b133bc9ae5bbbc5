package vcenter

import "vzones/vcenter/tags"

func newTagReader(vcenter string, opts timing) *tags.Reader {
	// Half of the requests that may be in flight stay free for SOAP, which answers when
	// the tagging service does not.
	return tags.NewReader(vcenter, opts.tagRefresh, max(1, opts.inFlight/2))
}
