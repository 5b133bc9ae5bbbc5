package main

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vzones/cmd/vzones/explain"
	"vzones/cmd/vzones/plan"
)

// TestOutputIsDocumented: the reference has each field of the JSON output, and no other.
func TestOutputIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/explain-and-plan.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sections, _ := strings.Cut(string(page), "## vzones explain\n")
	explained, planned, _ := strings.Cut(sections, "## vzones plan\n")
	for text, of := range map[string]reflect.Type{explained: reflect.TypeFor[explain.Explanation](), planned: reflect.TypeFor[plan.Plan]()} {
		var documented []string
		for line := range strings.Lines(text) {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
				documented = append(documented, m[1])
			}
		}
		slices.Sort(documented)
		has := fields(of, "")
		slices.Sort(has)
		if !slices.Equal(documented, has) {
			t.Errorf("%v: the page has\n%v\nand the output\n%v", of, documented, has)
		}
	}
}

// fields returns the paths of all fields of a type in JSON.
func fields(of reflect.Type, prefix string) []string {
	switch of.Kind() {
	case reflect.Pointer:
		return fields(of.Elem(), prefix)
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Struct {
			return fields(of.Elem(), strings.TrimSuffix(prefix, ".")+"[].")
		}
	case reflect.Struct:
		var all []string
		for f := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(f).Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			all = append(all, prefix+name)
			all = append(all, fields(of.Field(f).Type, prefix+name+".")...)
		}
		return all
	}
	return nil
}
