package yaml

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
)

// BrokenLine returns the line at which a file stops being YAML, for the error that the
// parser has given: the line after the longest beginning that is. The parser itself
// reports the beginning of the construct around a mistake, or no line at all.
//
// Each beginning takes a parser. So they are tried from where it has failed downwards,
// and then from the line that it has reported, each for a bounded number of bytes. In a
// large file, what it has reported stands if both fail.
func BrokenLine(data []byte, failure error) (int, []byte) {
	b := beginnings{data: data, lines: bytes.SplitAfter(data, []byte("\n"))}
	if line := b.longest(b.taken()); line > 0 {
		return line, b.lines[line-1]
	}
	said := min(reported(failure), len(b.lines))
	if line := b.longest(min(said+2, len(b.lines))); line > 0 {
		return line, b.lines[line-1]
	}
	if said > 1 {
		return said, b.lines[said-1]
	}
	return 1, nil
}

type beginnings struct {
	data  []byte
	lines [][]byte
}

// longest returns the line behind the longest beginning that is YAML and ends before a
// line, 0 if none is found within the bounds.
func (b *beginnings) longest(line int) int {
	const (
		most  = 1 << 20 // bytes to parse,
		least = 2       // unless these are fewer tries
	)
	end := 0
	for _, l := range b.lines[:line] {
		end += len(l)
	}
	parsed := 0
	for tries := 0; line > 0 && (tries < least || parsed < most); tries++ {
		end -= len(b.lines[line-1])
		if _, err := Documents(bytes.NewReader(b.data[:end])); err == nil {
			return line
		}
		parsed += end
		line--
	}
	return 0
}

// taken returns how many lines the parser takes until it fails: no beginning with all of
// them is YAML.
func (b *beginnings) taken() int {
	r := &lineReader{rest: b.lines}
	_, _ = Documents(r) // it fails as before
	return len(b.lines) - len(r.rest)
}

// lineReader gives out no more than a line at a time.
type lineReader struct {
	rest [][]byte
	line []byte
}

func (r *lineReader) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		if len(r.rest) == 0 {
			return 0, io.EOF
		}
		r.line, r.rest = r.rest[0], r.rest[1:]
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

var lineOf = regexp.MustCompile(`\bline (\d+)`)

// reported returns the line in an error of the parser, 0 if it has none.
func reported(err error) int {
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}
