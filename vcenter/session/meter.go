package session

import "bytes"

// A meter measures the size of a response's decoded form. It may overestimate, but never underestimates by more than one
// value.
type meter interface {
	add(p []byte)
	// size returns the number of XML elements and attributes or JSON values, and the deepest nesting, which is 0 for JSON.
	size() (parts, depth int)
}

// A jsonMeter counts commas, [ and {: each value except the outermost follows one of these, possibly after its key. It
// ignores the depth, because encoding/json limits it to 10,000.
type jsonMeter struct{ parts int }

func (m *jsonMeter) add(p []byte) {
	m.parts += bytes.Count(p, []byte{','}) + bytes.Count(p, []byte{'['}) + bytes.Count(p, []byte{'{'})
}

func (m *jsonMeter) size() (parts, depth int) { return m.parts, 0 }

type xmlState int

const (
	inText     xmlState = iota
	afterAngle          // after "<"
	inTag
	inSingleQuoted
	inDoubleQuoted
	inEndTag
	inProcInst
	afterBang     // after "<!"
	afterBangDash // after "<!-"
	inComment
	inCDATA
	inDirective
)

// An xmlMeter is no parser. It relies on the decoder to reject malformed documents.
type xmlMeter struct {
	state xmlState
	// beforeLast and last are the last two bytes of the current markup, 0 at its start.
	beforeLast, last byte

	parts          int
	depth, deepest int
}

func (m *xmlMeter) size() (parts, depth int) { return m.parts, m.deepest }

func (m *xmlMeter) add(p []byte) {
	for len(p) > 0 {
		switch m.state {
		case inText:
			i := bytes.IndexByte(p, '<')
			if i < 0 {
				return
			}
			m.state = afterAngle
			p = p[i+1:]
			continue
		case inDirective:
			// No vCenter sends a DOCTYPE. From it to the end, every < is counted as an element one level deeper, and every
			// = as an attribute: an upper bound.
			starts := bytes.Count(p, []byte{'<'})
			m.parts += starts + bytes.Count(p, []byte{'='})
			m.descend(starts)
			return
		}
		m.step(p[0])
		p = p[1:]
	}
}

func (m *xmlMeter) step(c byte) {
	switch m.state {
	case afterAngle:
		m.startMarkup(c)
		return
	case inTag:
		switch c {
		case '"':
			m.state = inDoubleQuoted
		case '\'':
			m.state = inSingleQuoted
		case '=':
			m.parts++
		case '>':
			m.state = inText
			if m.last == '/' {
				m.depth--
			}
		}
	case inSingleQuoted:
		if c == '\'' {
			m.state = inTag
		}
	case inDoubleQuoted:
		if c == '"' {
			m.state = inTag
		}
	case inEndTag:
		if c == '>' {
			m.state = inText
		}
	case inProcInst:
		if m.last == '?' && c == '>' {
			m.state = inText
		}
	case afterBang:
		switch c {
		case '-':
			m.state = afterBangDash
		case '[':
			m.enter(inCDATA)
			return
		default:
			m.state = inDirective
		}
	case afterBangDash:
		m.state = inDirective
		if c == '-' {
			m.enter(inComment)
			return
		}
	case inComment:
		if m.beforeLast == '-' && m.last == '-' && c == '>' {
			m.state = inText
		}
	case inCDATA:
		if m.beforeLast == ']' && m.last == ']' && c == '>' {
			m.state = inText
		}
	}
	m.beforeLast = m.last
	m.last = c
}

func (m *xmlMeter) startMarkup(c byte) {
	switch c {
	case '/':
		m.depth--
		m.enter(inEndTag)
	case '?':
		m.enter(inProcInst)
	case '!':
		m.enter(afterBang)
	default:
		m.parts++
		m.descend(1)
		m.enter(inTag)
	}
}

func (m *xmlMeter) enter(s xmlState) {
	m.state = s
	m.beforeLast = 0
	m.last = 0
}

func (m *xmlMeter) descend(levels int) {
	m.depth += levels
	m.deepest = max(m.deepest, m.depth)
}
