package ini

import (
	"bytes"
	"fmt"
	"strings"

	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"

	"vzones/config/problem"
	"vzones/config/schema"
	"vzones/topology/quote"
)

// A Block is a section of a file in the INI format, from its header to the next.
type Block struct {
	Section, Name string
	named         bool
	At            problem.Position
	Keys          []Key
	// bad reports whether the header could not be read, so that whose the keys are is
	// not known; lossy that there is more than the keys which could be read.
	bad, lossy bool
}

// Key is one key with its value.
type Key struct {
	Name, value string
	at          problem.Position
	// blank reports whether there is no =, quoted that there are quotes, cut that a
	// comment follows, and glued that no blank is before that.
	blank, quoted, cut, glued bool
	// continued reports whether a \ at the end of a line makes the next one a part of it.
	continued bool
	// bad reports whether the value could not be read, which was reported.
	bad bool
}

// Place returns where the key is.
func (k Key) Place() problem.Position { return k.at }

// unset reports whether nothing is written behind the =.
func (k Key) unset() bool { return k.value == "" && !k.blank && !k.bad }

// A scan reads the blocks of a file. Sections, keys and values are found by the
// scanner of gcfg, the library of the vSphere CPI, so that they are what they are
// there; the scan puts them together as that library does, but remembers the
// lines and goes on after a mistake. Its errors never hold a value.
type scan struct {
	*problem.List
	data   []byte
	base   int // the offset in data of what the scanner scans
	line   int // the line of that
	file   *token.File
	tokens scanner.Scanner
	blocks []*Block

	pos token.Pos
	tok token.Token
	lit string
	// fault is what the scanner complained of, and faulty in which line.
	fault  string
	faulty int
}

// Blocks returns the sections of a file. The mistakes are those of its syntax.
func Blocks(data []byte, p *problem.List) []*Block {
	r := &scan{List: p, data: data}
	r.start(0, 1)
	for r.tok != token.EOF || r.fault != "" {
		switch {
		case r.fault != "":
			r.fail(r.within(), r.said())
		case r.tok == token.EOL, r.tok == token.COMMENT:
			r.next()
		case r.tok == token.LBRACK:
			r.header()
		default:
			r.key()
		}
	}
	return r.blocks
}

// start begins at the beginning of a line.
func (r *scan) start(offset, line int) {
	rest := r.data[offset:]
	r.base, r.line, r.fault = offset, line, ""
	files := token.NewFileSet()
	r.file = files.AddFile("", files.Base(), len(rest))
	r.tokens.Init(r.file, rest, func(at token.Position, what string) {
		if r.fault == "" {
			r.fault, r.faulty = what, r.line+at.Line-1
		}
	}, scanner.ScanComments)
	r.next()
}

func (r *scan) next() { r.pos, r.tok, r.lit = r.tokens.Scan() }

func (r *scan) offset() int { return r.base + r.file.Offset(r.pos) }

// at returns the token's line.
func (r *scan) at() int { return r.line + r.file.Position(r.pos).Line - 1 }

// ended reports whether a line is at its end. A fault is then one of the next line,
// into which the scanner looks, or of a comment.
func (r *scan) ended() bool {
	return r.tok == token.EOL || r.tok == token.EOF || r.tok == token.COMMENT
}

// within returns the section that the scan is in.
func (r *scan) within() string {
	if b := r.last(); b != nil {
		return b.At.Path
	}
	return ""
}

func (r *scan) last() *Block {
	if len(r.blocks) == 0 {
		return nil
	}
	return r.blocks[len(r.blocks)-1]
}

// fail reports a mistake, at the fault if there is one and else at the token,
// and goes on after its line.
func (r *scan) fail(path, message string) {
	bad := r.at()
	if r.fault != "" {
		bad = r.faulty
	}
	r.Errorf(problem.Position{Line: bad, Path: path}, "%s", message)
	if b := r.last(); b != nil {
		b.lossy = true
	}
	line, offset, continued := r.line, r.base, false
	for offset < len(r.data) {
		text := r.data[offset:]
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			text = text[:end+1]
		}
		// What follows an open quote may belong to the text in it.
		over := r.fault != notClosed || bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("["))
		if line > bad && !continued && over {
			break
		}
		continued = bytes.HasSuffix(bytes.TrimRight(text, "\r\n"), []byte(`\`))
		offset += len(text)
		line++
	}
	r.start(offset, line)
}

const notClosed = "string not terminated"

// said says in our words what the scanner complained of: its own can hold a
// character of a value.
func (r *scan) said() string {
	switch {
	case r.fault == notClosed:
		return `a quote is not closed: close it, and write \" for one that belongs to the text`
	case strings.HasPrefix(r.fault, "unknown escape"):
		return `a \ in quotes begins an escape that the INI format does not have: write \\ for it`
	case strings.HasPrefix(r.fault, "unquoted '\\'"):
		return `there is a \ outside of quotes: put the value in quotes, and write \\ for it`
	case strings.HasSuffix(r.fault, "UTF-8 encoding"):
		return "a character is not UTF-8: save the file as UTF-8"
	case strings.HasSuffix(r.fault, "character NUL"):
		return "there is a control character: remove it"
	}
	return noKey
}

const (
	noKey    = "the line is neither a section such as [Global] nor a key with a value: write key = value"
	noHeader = `this is not a section: write one such as [Global] or [VirtualCenter "vc.example.com"]`
	noQuotes = `the name in a section is not in quotes: write it as in [VirtualCenter "vc.example.com"]`
)

// header reads the header of a section.
func (r *scan) header() {
	b := &Block{At: problem.Position{Line: r.at()}, bad: true}
	r.blocks = append(r.blocks, b)
	if r.next(); r.tok != token.IDENT {
		r.fail("", noHeader)
		return
	}
	b.Section = r.lit
	r.next()
	switch {
	case r.tok == token.STRING && r.fault != "":
		r.fail("", r.said())
		return
	case r.tok == token.STRING:
		b.Name, b.named = unquote(r.lit), true
		r.next()
	case r.tok != token.RBRACK && !r.ended():
		r.fail("", noQuotes)
		return
	}
	if r.tok == token.RBRACK {
		r.next()
		if r.ended() && (!b.named || b.Name != "") {
			b.At.Path, b.bad = header(b.Section, b.Name, b.named), false
			return
		}
	}
	r.fault = ""
	r.fail("", noHeader)
}

// header writes a section's header as the file does.
func header(section, name string, named bool) string {
	section = strings.Trim(quote.Value(schema.ShownKey(section)), `"`)
	if named {
		return fmt.Sprintf("[%s %s]", section, quote.Value(schema.ShownName(name)))
	}
	return "[" + section + "]"
}

// key reads a key with its value, or without.
func (r *scan) key() {
	at := problem.Position{Line: r.at(), Path: r.within()}
	if r.tok != token.IDENT {
		r.fail(at.Path, noKey)
		return
	}
	in := r.last()
	if in == nil {
		in = &Block{bad: true}
		r.blocks = append(r.blocks, in)
		r.Errorf(at, "the key stands before any section: write [Global] above it")
	}
	k := Key{Name: r.lit, at: at}
	r.next()
	switch {
	case r.ended():
		k.blank = true
	case r.tok != token.ASSIGN:
		r.fail(at.Path, noKey)
		return
	default:
		if at.Path != "" {
			k.at.Path += " " + strings.Trim(quote.Value(schema.ShownKey(k.Name)), `"`)
		}
		if r.next(); r.fault != "" {
			k.bad = true
			in.Keys = append(in.Keys, k)
			r.fail(k.at.Path, r.said())
			return
		}
		k.value, k.quoted = unquote(r.lit), strings.Contains(r.lit, `"`)
		k.continued = strings.Contains(r.lit, "\\\n")
		r.next()
		r.comment(&k)
	}
	in.Keys = append(in.Keys, k)
}

// comment notes a comment behind a value.
func (r *scan) comment(k *Key) {
	if r.tok != token.COMMENT {
		return
	}
	k.cut = true
	before := r.offset() - 1
	k.glued = before >= 0 && strings.IndexByte(" \t\r", r.data[before]) < 0
}

// unquote returns the text of a literal of the scanner, which has made sure that
// its quotes and escapes are sound.
func unquote(literal string) string {
	var text strings.Builder
	escaped := false
	for _, c := range literal {
		switch {
		case escaped:
			escaped = false
			switch c {
			case 'n':
				text.WriteByte('\n')
			case 't':
				text.WriteByte('\t')
			case '\n': // the line goes on
			default:
				text.WriteRune(c)
			}
		case c == '\\':
			escaped = true
		case c != '"':
			text.WriteRune(c)
		}
	}
	return text.String()
}
