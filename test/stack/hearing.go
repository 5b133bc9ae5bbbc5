package stack

import (
	"io"
	"os"
	"strings"
)

// A Hearing follows what a daemon says of its own accord, which at -v=10 is
// little beside the requests and answers that it prints: those are left out. It
// is not safe for concurrent use.
type Hearing struct {
	path   string
	offset int64
	rest   string // a line without its end
	bodies bool   // the line before belongs to what is left out
	said   strings.Builder
}

// Hear returns the hearing of a daemon from its beginning.
func (d *Daemon) Hear() *Hearing { return &Hearing{path: d.LogPath()} }

// Said returns all whole lines that are in the log by now.
func (h *Hearing) Said() (string, error) {
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

func (h *Hearing) take(text string) {
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
		line = "] " + strings.Replace(message, `",`, `" `, 1) // as text has it
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
