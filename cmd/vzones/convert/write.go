package convert

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"vzones/config"
	"vzones/config/load"
	"vzones/topology"
)

type contents struct {
	global, region, zone, topology, nodes *load.Section
	vcenters, levels                      []*load.Section
}

func (s *contents) place(label labelSource, r *load.Section) {
	switch label.rule.Label {
	case topology.LabelRegion:
		s.region = r
	case topology.LabelZone:
		s.zone = r
	default:
		r.In = config.SectionLevel
		s.levels = append(s.levels, r)
	}
}

// writer writes the keys that are set, in the order of the table of fields.
type writer struct {
	// comment returns the comment for a value from a position. May be nil.
	comment func(at load.Position) string
}

func (w writer) file(s *contents, head string) []byte {
	labels := &load.Section{In: config.SectionLabels}
	top := s.topology.Clone()
	for key, r := range map[string]*load.Section{"region": s.region, "zone": s.zone} {
		labels.Put(key, &load.Value{Section: r, Set: r.At.Line != 0})
	}
	top.In = config.SectionTopology
	top.Put("levels", &load.Value{Sections: s.levels, Set: len(s.levels) > 0})
	root := new(load.Section)
	for key, section := range map[string]*load.Section{"global": s.global, "labels": labels, "topology": top, "nodes": s.nodes} {
		root.Put(key, &load.Value{Section: section, Set: true})
	}
	root.Put("vcenter", &load.Value{Sections: s.vcenters, Set: true})
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", head)
	encode(&b, w.mapping(root))
	return b.Bytes()
}

func (w writer) mapping(s *load.Section) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, f := range config.FieldsOf(s.In) {
		if v := s.V(f.Key); v.Set && f.Unsupported+f.NoEffect == "" {
			if node := w.value(v, f); node != nil {
				n.Content = append(n.Content, scalar(f.Key), node)
			}
		}
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

func (w writer) value(v *load.Value, f *config.Field) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	switch {
	case f.Kind == config.KindRule && v.Section.IsShort:
		return w.value(v.Section.V("tag"), &config.Field{Kind: config.KindText})
	case f.Kind == config.KindMapping || f.Kind == config.KindRule:
		v.Section.In = f.Subsection
		return w.mapping(v.Section)
	case f.Kind == config.KindEntries:
		for _, e := range v.Sections {
			mapping := w.mapping(e)
			if mapping == nil { // A vCenter without keys is valid.
				mapping = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
			}
			n.Content = append(n.Content, scalar(e.Name), mapping)
		}
		return n
	case f.Kind == config.KindLevels:
		n.Kind = yaml.SequenceNode
		n.Tag = "!!seq"
		for _, level := range v.Sections {
			n.Content = append(n.Content, w.mapping(level))
		}
		return n
	case f.Kind == config.KindLabels && v.Data == nil:
		for _, row := range v.List {
			n.Content = append(n.Content, scalar(row.Key), w.commented(scalar(row.Text), row.At))
		}
		return n
	case f.Kind.IsList():
		elements, _ := v.Data.([]string)
		if len(v.List) > 0 {
			elements = nil
			for _, element := range v.List {
				elements = append(elements, element.Text)
			}
		}
		n.Kind = yaml.SequenceNode
		n.Tag = "!!seq"
		n.Style = yaml.FlowStyle
		for _, element := range elements {
			n.Content = append(n.Content, scalar(element))
		}
	case f.Kind == config.KindPEM && v.Text == "":
		n = scalar(string(v.Data.([]byte)))
	case v.Text != "" || v.Data == nil:
		n = scalar(v.Text)
	default:
		n = valueNode(v.Data)
	}
	return w.commented(n, v.At)
}

func (w writer) commented(n *yaml.Node, pos load.Position) *yaml.Node {
	if w.comment != nil {
		n.LineComment = "# " + w.comment(pos)
	}
	return n
}

// encode appends a document. It panics if a node is invalid: a buffer returns no errors.
func encode(b *bytes.Buffer, n *yaml.Node) {
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic(fmt.Sprintf("writing YAML: %v", err))
	}
	if err := e.Close(); err != nil {
		panic(fmt.Sprintf("writing YAML: %v", err))
	}
}

// scalar returns a string, quoted if YAML readers may misinterpret it.
func scalar(s string) *yaml.Node {
	switch {
	case isMultiline(s):
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.LiteralStyle}
	case strings.IndexFunc(s, needsEscape) >= 0 || s == "<<" || s == "=":
		// The encoder does not quote these two, which readers take for a merge key and a default value.
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	return encoded(s)
}

// isMultiline reports whether a text, such as a certificate, can be a literal block.
func isMultiline(s string) bool {
	isPlain := func(r rune) bool { return r == '\n' || r > ' ' && r < 0x7f || r == ' ' }
	return strings.HasSuffix(s, "\n") && strings.TrimSpace(s) == s[:len(s)-1] && strings.Trim(s, "\n") != "" &&
		strings.IndexFunc(s, func(r rune) bool { return !isPlain(r) }) < 0
}

func needsEscape(r rune) bool { return unicode.IsControl(r) || !unicode.IsPrint(r) }

func valueNode(v any) *yaml.Node {
	if s, ok := v.(string); ok {
		return scalar(s)
	}
	return encoded(v)
}

func encoded(v any) *yaml.Node {
	n := new(yaml.Node)
	if err := n.Encode(v); err != nil {
		panic(fmt.Sprintf("writing YAML: %v", err))
	}
	return n
}
