package fleet

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"
)

type leaks struct {
	mu sync.Mutex
	// texts maps a description to a forbidden text; sent lists the descriptions found.
	texts map[string]string
	sent  []string
}

// Forbid makes a vCenter search the headers, URLs and bodies of its requests for a text.
func (f *Fleet) Forbid(vcenter, description, text string) {
	l := &f.VCenter(vcenter).leaks
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts == nil {
		l.texts = map[string]string{}
	}
	l.texts[description] = text
}

// Leaked returns the forbidden texts that were sent, each with its vCenter.
func (f *Fleet) Leaked() []string {
	var leaked []string
	for _, v := range f.VCenters() {
		v.leaks.mu.Lock()
		for _, description := range v.leaks.sent {
			leaked = append(leaked, description+" to "+v.Name())
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
	_ = r.Header.Write(&head) // a strings.Builder never fails
	for description, text := range l.texts {
		if !slices.Contains(l.sent, description) && (strings.Contains(head.String(), text) || strings.Contains(r.RequestURI, text) || bytes.Contains(body, []byte(text))) {
			l.sent = append(l.sent, description)
		}
	}
}
