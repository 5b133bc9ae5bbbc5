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

// Format is a value of --output.
type Format string

// The formats of lists.
const (
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Name  Format = "name"
)

// Formats returns the formats of lists. The default is first.
func Formats() []Format { return []Format{Table, Wide, JSON, YAML, Name} }

// Flag adds --output with these formats. The first is the default.
func (f *Format) Flag(flags *pflag.FlagSet, formats ...Format) {
	*f = formats[0]
	value := &formatValue{f, formats}
	flags.VarP(value, "output", "o", "the output format: "+strings.Join(value.Completions(), ", ")+jsonPathUsage(formats))
}

type formatValue struct {
	format  *Format
	formats []Format
}

func (v *formatValue) String() string { return string(*v.format) }
func (v *formatValue) Type() string   { return "FORMAT" }

// Completions returns the formats without jsonPath, which needs a template.
func (v *formatValue) Completions() []string {
	names := make([]string, len(v.formats))
	for i, f := range v.formats {
		names[i] = string(f)
	}
	return names
}

func (v *formatValue) Set(text string) error {
	if slices.Contains(v.formats, JSON) && strings.HasPrefix(text, jsonPath) {
		if _, err := parseJSONPath(text); err != nil {
			return err
		}
	} else if !slices.Contains(v.formats, Format(text)) {
		return fmt.Errorf("must be one of %q", v.formats)
	}
	*v.format = Format(text)
	return nil
}

// List is the output of a command. The table format truncates long values, and the wide format does not.
type List struct {
	// Columns are the headings. Columns from index WideFrom on appear only in the wide format; 0 if none
	// do.
	Columns  []string
	WideFrom int
	Rows     []Row
	// Data is the JSON and YAML output.
	Data any
}

// Row is a line of a List.
type Row struct {
	// Name is the output in the name format.
	Name  string
	Cells []string
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

// PrintJSON prints a value as indented JSON, with control characters escaped for the terminal.
func (t *Tool) PrintJSON(value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return t.Write(append(Escaped(data), '\n'))
}

// PrintYAML prints a value as YAML. YAML has escapes only between double quotes, so a value with
// characters that need escapes is printed as JSON, which is valid YAML.
func (t *Tool) PrintYAML(value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	data = escapedWith(data, func(r rune) string { return fmt.Sprintf("\\U%08x", r) })
	// JSONToYAML rejects control characters.
	text, err := yaml.JSONToYAML(data)
	if err != nil {
		return fmt.Errorf("writing YAML: %w", err)
	}
	if bytes.ContainsFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
		text = slices.Concat(data, []byte("\n"))
	}
	return t.Write(text)
}

// Escaped returns JSON, or text from it, with escapes for characters that a terminal does not print as
// they are. encoding/json leaves some of them unescaped, but only in strings.
func Escaped(data []byte) []byte {
	return escapedWith(data, func(r rune) string {
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf("\\u%04x\\u%04x", high, low)
	})
}

// escapedWith is like Escaped. long escapes characters beyond 16 bits, where JSON and YAML differ.
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

// table lays out the first columns of a list. It adds the colors last, because tabwriter would include
// them in the widths.
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
	_ = w.Flush() // A bytes.Buffer returns no errors.
	i := 0
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(&colored, t.Paint(rows[i].Color, strings.TrimRight(line, " \n")))
		i++
	}
	return colored.Bytes()
}

// LineWidth is the maximum width of a table and of a wrapped line. The wide and JSON formats have no limit.
const LineWidth = 160

// fit shrinks the widest columns until the table fits into LineWidth. Each column keeps at least one character.
func fit(widths []int) {
	total := 3 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	for ; total > LineWidth && slices.Max(widths) > 1; total-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
}

func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

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
		return nil, fmt.Errorf("invalid JSONPath template (example: {.nodes[*].name}): %w", err)
	}
	return p, nil
}

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
	return t.Write(append(Escaped(b.Bytes()), '\n'))
}
