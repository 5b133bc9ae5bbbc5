package fleet

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// leaks looks for texts in requests that no vCenter may be sent.
type leaks struct {
	mu sync.Mutex
	// texts are the forbidden ones by what they are, and sent those that a request had.
	texts map[string]string
	sent  []string
}

// Forbid has a vCenter look for a text in its requests: in headers, addresses and bodies.
func (f *Fleet) Forbid(vcenter, what, text string) {
	l := &f.VCenter(vcenter).leaks
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil {
		l.texts = map[string]string{}
	}
	l.texts[what] = text
}

// Leaked returns which forbidden texts were sent to which vCenters.
func (f *Fleet) Leaked() []string {
	var leaked []string
	for _, v := range f.VCenters() {
		v.leaks.mu.Lock()
		for _, what := range v.leaks.sent {
			leaked = append(leaked, what+" to "+v.Name())
		}
		v.leaks.mu.Unlock()
	}
	return leaked
}

func (l *leaks) look(r *http.Request, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.texts) == 0 {
		return
	}
	var head strings.Builder
	_ = r.Header.Write(&head) // a builder takes all
	for what, text := range l.texts {
		if !slices.Contains(l.sent, what) && (strings.Contains(head.String(), text) || strings.Contains(r.RequestURI, text) || bytes.Contains(body, []byte(text))) {
			l.sent = append(l.sent, what)
		}
	}
}
