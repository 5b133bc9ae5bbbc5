package stack

import (
	"io"
	"os"
	"strings"
)

// An OwnLogReader reads a daemon's log without the requests and responses, which are most of
// it at -v=10. It is not safe for concurrent use.
type OwnLogReader struct {
	path   string
	offset int64
	rest   string // a line without its end
	bodies bool   // the line before belongs to what is left out
	said   strings.Builder
}

// OwnLog returns a reader of the daemon's log from its beginning.
func (d *Daemon) OwnLog() *OwnLogReader { return &OwnLogReader{path: d.LogPath()} }

// Text returns all complete lines that are in the log by now.
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
	more := make([]byte, size-h.offset)
	if _, err := log.ReadAt(more, h.offset); err != nil {
		return "", err
	}
	h.offset = size
	h.take(h.rest + string(more))
	return h.said.String(), nil
}

func (h *OwnLogReader) take(text string) {
	h.rest = ""
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			h.rest = line
			return
		}
		// Lines that begin with a blank continue a value of the line above.
		if line[0] != '\t' && line[0] != ' ' {
			h.bodies = isTraffic(line)
		}
		if !h.bodies {
			h.said.WriteString(line)
		}
	}
}

// isTraffic says of the first line of an entry whether it shows a request or an
// answer, of the daemon's client or of its server.
func isTraffic(line string) bool {
	if _, message, ok := strings.Cut(line, `"msg":`); ok && line[0] == '{' {
		// The text format has the message after the bracket.
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
