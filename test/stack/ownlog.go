package stack

import (
	"io"
	"os"
	"strings"
)

// An OwnLogReader reads a daemon's log without the logged requests and responses, which are most of it at -v=10. It is
// not safe for concurrent use.
type OwnLogReader struct {
	path      string
	offset    int64
	partial   string // an incomplete line
	inTraffic bool   // the previous line was omitted
	text      strings.Builder
}

// OwnLog returns a reader that starts at the beginning of the log.
func (d *Daemon) OwnLog() *OwnLogReader { return &OwnLogReader{path: d.LogPath()} }

// Text returns all complete lines so far.
func (h *OwnLogReader) Text() (string, error) {
	log, err := os.Open(h.path)
	if err != nil {
		return "", err
	}
	defer log.Close()
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	added := make([]byte, size-h.offset)
	if _, err := log.ReadAt(added, h.offset); err != nil {
		return "", err
	}
	h.offset = size
	h.take(h.partial + string(added))
	return h.text.String(), nil
}

func (h *OwnLogReader) take(text string) {
	h.partial = ""
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			h.partial = line
			return
		}
		// Lines that start with a blank continue a value of the previous line.
		if line[0] != '\t' && line[0] != ' ' {
			h.inTraffic = isTraffic(line)
		}
		if !h.inTraffic {
			h.text.WriteString(line)
		}
	}
}

// isTraffic reports whether the first line of an entry logs a request or response of the daemon's client or server.
func isTraffic(line string) bool {
	if _, message, ok := strings.Cut(line, `"msg":`); ok && line[0] == '{' {
		// In the text format the message follows the bracket.
		line = "] " + strings.Replace(message, `",`, `" `, 1)
	}
	_, message, ok := strings.Cut(line, "] ")
	if !ok {
		return false
	}
	for _, begins := range []string{
		`"Request" `, `"Request Body"`, `"Response" `, `"Response Body"`, `"HTTP`, `"Warning response"`,
	} {
		if strings.HasPrefix(message, begins) {
			return true
		}
	}
	return false
}
