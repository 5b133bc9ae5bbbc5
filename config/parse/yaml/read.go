package yaml

import (
	"bytes"
	"strings"

	"vzones/config/problem"
	"vzones/config/schema"
)

// Read reads a file in the YAML format into the schema. Without one the
// file could not be read at all, and problems has the reason.
func Read(data []byte, p *problem.List) *schema.File {
	root := Root(data, p)
	if root == nil {
		return nil
	}
	s := new(schema.File)
	d := &Decoder{List: p, places: schema.Places(s.Fields()), Size: len(data)}
	d.Mapping(root, problem.Position{Line: root.Line}, s.InYAML())
	return s
}

// Root returns the mapping that a file is, or nil if it is none.
func Root(data []byte, p *problem.List) *Node {
	documents, err := Documents(bytes.NewReader(data))
	if err != nil {
		if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
			p.Errorf(problem.Position{}, "the file is UTF-16 text, and not YAML: save the file as UTF-8")
			return nil
		}
		line, content := BrokenLine(data, err)
		p.Errorf(problem.Position{Line: line}, "this is not YAML: %s", syntaxProblem(err, content))
		return nil
	}
	if Hollow(documents) {
		p.Errorf(problem.Position{}, "the file is empty: write at least one vCenter under vcenter")
		return nil
	}
	root := documents[0].Content[0]
	if root.Kind != MappingNode {
		p.Errorf(problem.Position{Line: root.Line}, "the file is %s: write a mapping with vcenter and, where needed, "+
			"global, labels and nodes", describe(root))
		return nil
	}
	if len(documents) > 1 {
		p.Errorf(problem.Position{Line: documents[1].Line}, "a second YAML document begins here: "+
			"write one document, without a further --- line")
	}
	return root
}

// Hollow reports whether the first document of a file has nothing in it.
func Hollow(documents []*Node) bool {
	return len(documents) == 0 || len(documents[0].Content) == 0 || Null(documents[0].Content[0])
}

// syntaxProblem says what the parser found. Its own words are never passed on:
// they can hold text of the file, such as a password that begins with a *.
func syntaxProblem(err error, line []byte) string {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	if bytes.ContainsRune(indent, '\t') {
		return "the line is indented with a tab: indent with spaces"
	}
	found := err.Error()
	for _, known := range []struct{ parser, ours string }{
		{"unknown anchor", "a value begins with *, which makes it a YAML alias: put the value in quotes"},
		{"cannot start any token", "a value begins with a character that YAML reserves, such as @, ` or %: " +
			"put it in quotes"},
		{"mapping values are not allowed", "a second \": \" in the line, or a line that is indented too far: " +
			"put a value with a colon in quotes"},
		{"unexpected end of stream", "a quote or bracket is not closed: close it"},
		{"unexpected document indicator", "a quote is not closed: close it"},
		{"escape character", "a \\ in double quotes begins an escape that YAML does not have: use single quotes"},
		{"escape code", "a \\ in double quotes begins an escape that YAML does not have: use single quotes"},
		{"could not find expected ':'", "a line is not a key with a value: write key: value, " +
			"and indent text that goes on below its key"},
		{"did not find expected key", "a key is indented differently from those before it, " +
			"or text follows a closing quote"},
		{"expected '-' indicator", "an element of a list is indented differently from those before it, or has no -"},
		{"expected ',' or", "a bracket is not closed, or a comma is missing"},
		{"sequence entries are not allowed", "a list begins on the line of its key: begin it on the next line"},
		{"tag", "a value begins with !, which makes it a YAML tag: put the value in quotes"},
		{"UTF-8", "a character is not UTF-8: save the file as UTF-8"},
		{"control characters", "there is a control character: remove it"},
		{"max depth", "it is nested too deeply"},
	} {
		if strings.Contains(found, known.parser) {
			return known.ours
		}
	}
	return "check quotes, colons and indentation"
}
