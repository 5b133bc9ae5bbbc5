package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"vzones/internal/quote"
)

// A Format is how a list is printed.
type Format string

// The formats of lists. A command may have others beside them.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats returns the formats of lists, the default first.
func Formats() []Format { return []Format{Table, Wide, JSON, YAML, Name} }

// Flag adds the flag -o, which takes one of the formats; the first is the default.
func (f *Format) Flag(flags *pflag.FlagSet, formats ...Format) {
	*f = formats[0]
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = string(formats[i])
	}
	flags.VarP(&formatValue{f, formats}, "output", "o", "how to print it: "+strings.Join(names, ", ")+jsonPathUsage(formats))
}

type formatValue struct {
	format  *Format
	formats []Format
}

func (v *formatValue) String() string { return string(*v.format) }
func (v *formatValue) Type() string   { return "FORMAT" }

func (v *formatValue) Set(text string) error {
	if slices.Contains(v.formats, JSON) && strings.HasPrefix(text, jsonPath) {
		if _, err := parseJSONPath(text); err != nil {
			return err
		}
	} else if !slices.Contains(v.formats, Format(text)) {
		return fmt.Errorf("write one of %q", v.formats)
	}
	*v.format = Format(text)
	return nil
}

// A List is what a command prints. A table has long values cut, so that its lines fit; the format wide has them whole.
type List struct {
	// Columns are the headings. Those from WideFrom on are in the format wide only; 0 for none.
	Columns  []string
	WideFrom int
	// Rows have a cell for each column.
	Rows []Row
	// Data is what the formats json and yaml have. Its fields are documented in docs/reference.
	Data any
}

// A Row is one line of a List.
type Row struct {
	// Name is what the format name has.
	Name  string
	Cells []string
	// Color is that of the line, empty for none.
	Color Color
}

// Print prints a list in a format.
func (t *Tool) Print(format Format, l *List) error {
	switch format {
	case JSON:
		return t.PrintJSON(l.Data)
	case YAML:
		return t.PrintYAML(l.Data)
	case Name:
		var b bytes.Buffer
		for _, r := range l.Rows {
			fmt.Fprintln(&b, quote.Name(r.Name))
		}
		return t.Write(b.Bytes())
	}
	if strings.HasPrefix(string(format), jsonPath) {
		return t.printJSONPath(string(format), l.Data)
	}
	columns := len(l.Columns)
	if l.WideFrom > 0 && format != Wide {
		columns = l.WideFrom
	}
	return t.Write(t.table(l, columns, format != Wide))
}

// PrintJSON prints a value as indented JSON. What a terminal may take for a command is escaped.
func (t *Tool) PrintJSON(value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return t.Write(append(escaped(data), '\n'))
}

// PrintYAML prints a value as YAML, likewise. YAML has no escapes outside of double quotes, so a value with characters
// that need some is printed in the form of JSON, which YAML includes.
func (t *Tool) PrintYAML(value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	data = escapedWith(data, func(r rune) string { return fmt.Sprintf("\\U%08x", r) })
	// It accepts no control characters.
	text, err := yaml.JSONToYAML(data)
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	if bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
		text = slices.Concat(data, []byte("\n"))
	}
	return t.Write(text)
}

// escaped returns JSON, or text from it, with escapes for the characters that a terminal does not show as they are.
// encoding/json leaves some of them, in strings only.
func escaped(data []byte) []byte {
	return escapedWith(data, func(r rune) string {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf("\\u%04x\\u%04x", high, low)
	})
}

// escapedWith is escaped with an escape for characters beyond 16 bits, in which JSON and YAML differ.
func escapedWith(data []byte, long func(rune) string) []byte {
	var b bytes.Buffer
	for _, r := range string(data) {
		switch {
		case r == '\n', r == '\t', strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString(long(r))
		default:
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.Bytes()
}

// table lays out the first columns of a list. A line has its color after it has its columns, which a color
// would count for.
func (t *Tool) table(l *List, columns int, fits bool) []byte {
	widths := make([]int, columns)
	rows := append([]Row{{Cells: l.Columns}}, l.Rows...)
	for i := range widths {
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.Cells[i]))
		}
	}
	if fits {
		fit(widths)
	}
	var b, colored bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	for _, r := range rows {
		cells := make([]string, columns)
		for i := range cells {
			cells[i] = cut(r.Cells[i], widths[i])
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes all
	i := 0
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(&colored, t.Paint(rows[i].Color, strings.TrimRight(line, " \n")))
		i++
	}
	return colored.Bytes()
}

// LineWidth is how wide a table, and a line for a person, is at most. The formats wide and json have the whole values.
const LineWidth = 160

// fit makes the widest columns of a table narrower until it fits. Each keeps one character.
func fit(widths []int) {
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > LineWidth && slices.Max(widths) > 1; total-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
}

// cut returns a text that is no longer than a column. An ellipsis is where something is left out.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// jsonPath is what the format begins with that prints a part of what JSON has.
const jsonPath = "jsonpath="

func jsonPathUsage(formats []Format) string {
	if slices.Contains(formats, JSON) {
		return ", " + jsonPath + "TEMPLATE"
	}
	return ""
}

func parseJSONPath(format string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("output").AllowMissingKeys(true)
	if err := p.Parse(strings.TrimPrefix(format, jsonPath)); err != nil {
		return nil, fmt.Errorf("the template is no JSONPath, such as {.nodes[*].name}: %w", err)
	}
	return p, nil
}

// printJSONPath prints what a template takes from a value's JSON.
func (t *Tool) printJSONPath(format string, value any) error {
	p, err := parseJSONPath(format)
	if err != nil {
		return err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	var b bytes.Buffer
	if err := p.Execute(&b, tree); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return t.Write(append(escaped(b.Bytes()), '\n'))
}
