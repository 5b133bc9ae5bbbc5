package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/client-go/util/jsonpath"
)

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
