package load

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"

	"vzones/config"
	"vzones/internal/quote"
)

var (
	byteOrderMark = []byte("\ufeff")
	keyAndValue   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*\s*=`)
)

// IsINI reports whether a file is INI, by its first line that is neither blank nor a comment: no YAML
// file begins with [, or with a key and =.
func IsINI(data []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(data, byteOrderMark)) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == ';' {
			continue
		}
		return line[0] == '[' || keyAndValue.Match(line)
	}
	return false
}

type block struct {
	section, name string
	pos           Position
	keys          []*rawValue
	// isBad is true if the section of the keys is unknown: the header is unreadable, or keys precede the first header.
	// isLossy is true if a line of the block is unreadable.
	isBad, isLossy bool
}

// readINI reads as much of an INI file as possible. Blocks with the same header form one section.
func readINI(data []byte, p *Problems) *Section {
	root := new(Section)
	d := newDecoder(p, root, len(data))
	keys := keysOf(config.SectionRoot, &INI)
	var order []*Section
	values := make(map[*Section][]*rawValue)
	for _, b := range scanINI(bytes.TrimPrefix(data, byteOrderMark), p) {
		if s := d.sectionFor(b, keys, root); s != nil {
			if values[s] == nil {
				order = append(order, s)
			}
			values[s] = append(values[s], b.keys...)
			s.Unsure = s.Unsure || b.isLossy
		}
	}
	for _, s := range order {
		keys := keysOf(s.In, &INI)
		for _, n := range values[s] {
			n.pos.VCenter = s.At.VCenter
			if n.has(noValue) && d.find(keys, n.key) != nil {
				n.pos.Path += " " + n.key
			}
		}
		children := func(func(string) string) []*rawValue { return values[s] }
		d.mapping(&rawValue{shape: mapping, pos: s.At, children: children}, s)
	}
	for _, e := range root.V("vcenter").Sections {
		if !e.V("server").Set {
			e.Put("server", &Value{Text: e.Name, At: e.At, Set: true, Hidden: gluedSecret(e.Name) > 0})
		}
	}
	return root
}

func (d *decoder) sectionFor(b *block, keys []key, root *Section) *Section {
	vcenters := root.V("vcenter")
	n := &rawValue{key: b.section, pos: b.pos, shape: mapping, size: 1}
	k := d.find(keys, b.section)
	switch {
	case b.isBad: // Its keys may belong to any section.
		vcenters.Bad = true
		root.sub("global").Unsure = true
	case b.section == "": // The block is above the first header.
	case k == nil:
		d.unknown(n, keys, root)
	case k.use != supported:
		d.take(n, k, root)
	case k.field.Kind == config.KindMapping && b.name != "":
		d.Errorf(b.pos, "takes no name: write [%s]", k.name)
		markPresent(root, *k, b.pos)
	case k.field.Kind == config.KindMapping:
		s := root.sub(k.field.Key)
		s.At = b.pos
		return s
	case b.name == "":
		example := "k8s-zone"
		if k.field.Subsection == config.SectionEntry {
			example = "vc.example.com"
		}
		d.Errorf(b.pos, "has no name: write it like [%s %q]", k.name, example)
		vcenters.Bad = true
	case k.field.Subsection == config.SectionEntry && !isEntryName(b.name):
		d.Errorf(b.pos, invalidName)
		vcenters.Bad = true
	default:
		if k.field.Subsection == config.SectionEntry {
			b.pos.VCenter = b.name
		}
		v := root.V(k.field.Key)
		i := slices.IndexFunc(v.Sections, func(e *Section) bool { return e.Name == b.name })
		if i < 0 {
			i = len(v.Sections)
			v.Sections = append(v.Sections, &Section{Name: b.name, At: b.pos, In: k.field.Subsection})
		}
		d.bounded(b.pos, len(vcenters.Sections), maxVCenters, "vCenters")
		d.bounded(b.pos, len(root.V("TopologyCategory").Sections), maxLevels, "categories with a label")
		return v.Sections[i]
	}
	return nil
}

// An iniScanner reads the blocks of a file with the scanner of gcfg, which the vSphere CPI uses too. Unlike gcfg, it
// keeps line numbers and continues after an error.
type iniScanner struct {
	*Problems
	blocks []*block
	// line is the number of the first physical line of the current logical line.
	line   int
	file   *token.File
	tokens scanner.Scanner

	pos       token.Pos
	tok       token.Token
	lit       string
	fault     string
	faultLine int
	// isOpen is true after an unclosed quote, until the next section.
	isOpen bool
}

func scanINI(data []byte, p *Problems) []*block {
	r := &iniScanner{Problems: p, blocks: []*block{{}}}
	lines := bytes.SplitAfter(data, []byte("\n"))
	first := 0
	for i := 1; i <= len(lines); i++ {
		if i < len(lines) && bytes.HasSuffix(bytes.TrimRight(lines[i-1], "\r\n"), []byte(`\`)) {
			continue
		}
		r.scanLogicalLine(bytes.Join(lines[first:i], nil), first+1)
		first = i
	}
	return r.blocks
}

func (r *iniScanner) scanLogicalLine(text []byte, line int) {
	if r.isOpen && !bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("[")) {
		return
	}
	files := token.NewFileSet()
	r.line = line
	r.file = files.AddFile("", files.Base(), len(text))
	r.isOpen = false
	r.tokens.Init(r.file, text, func(at token.Position, what string) {
		if r.fault == "" {
			r.fault = what
			r.faultLine = line + at.Line - 1
		}
	}, scanner.ScanComments)
	for r.next(); r.tok != token.EOF || r.fault != ""; {
		switch {
		case r.fault != "":
			r.fail(r.current().pos.Path, r.faultText())
		case r.tok == token.EOL, r.tok == token.COMMENT:
			r.next()
		case r.tok == token.LBRACK:
			r.readHeader()
		default:
			r.readKey()
		}
	}
}

func (r *iniScanner) next() { r.pos, r.tok, r.lit = r.tokens.Scan() }

func (r *iniScanner) tokenLine() int { return r.line + r.file.Position(r.pos).Line - 1 }

func (r *iniScanner) isAtLineEnd() bool {
	return r.tok == token.EOL || r.tok == token.EOF || r.tok == token.COMMENT
}

func (r *iniScanner) current() *block { return r.blocks[len(r.blocks)-1] }

// fail reports an error at the fault, or else at the token, and ends the line.
func (r *iniScanner) fail(path, message string) {
	bad := r.tokenLine()
	if r.fault != "" {
		bad = r.faultLine
	}
	r.Errorf(Position{Line: bad, Path: path}, "%s", message)
	r.current().isLossy = true
	r.isOpen = r.fault == notClosed
	r.tok = token.EOF
	r.fault = ""
}

const notClosed = "string not terminated"

// faultText rewords the scanner's error, which may contain a character of a value.
func (r *iniScanner) faultText() string {
	switch {
	case r.fault == notClosed:
		return `a quote is not closed: close it, and write \" for a quote in the text`
	case strings.HasPrefix(r.fault, "unknown escape"):
		return `a \ in quotes begins an unknown escape: write \\ for it`
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

func (r *iniScanner) readHeader() {
	b := &block{pos: Position{Line: r.tokenLine()}, isBad: true}
	r.blocks = append(r.blocks, b)
	if r.next(); r.tok != token.IDENT {
		r.fail("", noHeader)
		return
	}
	b.section = r.lit
	r.next()
	isNamed := r.tok == token.STRING
	switch {
	case isNamed && r.fault != "":
		r.fail("", r.faultText())
		return
	case isNamed:
		b.name = unescape.Replace(r.lit)
		r.next()
	case r.tok != token.RBRACK && !r.isAtLineEnd():
		r.fail("", noQuotes)
		return
	}
	if r.tok == token.RBRACK {
		r.next()
		if r.isAtLineEnd() && (!isNamed || b.name != "") {
			b.pos.Path = formatHeader(b.section, b.name)
			b.isBad = false
			return
		}
	}
	r.fault = ""
	r.fail("", noHeader)
}

func formatHeader(section, name string) string {
	section = strings.Trim(quote.Value(shownKey(section)), `"`)
	if name != "" {
		return fmt.Sprintf("[%s %s]", section, quote.Value(shownName(name)))
	}
	return "[" + section + "]"
}

func (r *iniScanner) readKey() {
	pos := Position{Line: r.tokenLine(), Path: r.current().pos.Path}
	if r.tok != token.IDENT {
		r.fail(pos.Path, noKey)
		return
	}
	b := r.current()
	if len(r.blocks) == 1 && !b.isBad {
		b.isBad = true
		r.Errorf(pos, "the key is not in a section: write [Global] above it")
	}
	k := &rawValue{key: r.lit, pos: pos}
	r.next()
	switch {
	case r.isAtLineEnd():
		k.style |= noValue
	case r.tok != token.ASSIGN:
		r.fail(pos.Path, noKey)
		return
	default:
		if pos.Path != "" {
			k.pos.Path += " " + strings.Trim(quote.Value(shownKey(k.key)), `"`)
		}
		if r.next(); r.fault != "" {
			k.style |= damaged
			b.keys = append(b.keys, k)
			r.fail(k.pos.Path, r.faultText())
			return
		}
		k.text = unescape.Replace(r.lit)
		isQuoted := strings.Contains(r.lit, `"`)
		isContinued := strings.Contains(r.lit, "\\\n")
		r.next()
		if !isQuoted && (isContinued || r.tok == token.COMMENT) {
			k.style |= cutShort
		}
	}
	b.keys = append(b.keys, k)
}

// unescape converts a literal that the scanner has validated to its value. A \ at the end of a line continues it.
var unescape = strings.NewReplacer("\\\n", "", `\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`, `"`, "")
