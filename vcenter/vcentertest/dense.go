package vcentertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// A DenseType is a govmomi type and its field with the highest memory use per byte of XML.
type DenseType struct {
	Name string
	// Path contains the element names from the type down to the field.
	Path []string
	// Size is in bytes.
	Size int
}

func (d DenseType) element() string { return "<" + d.Path[len(d.Path)-1] + "/>" }

func (d DenseType) density() float64 { return float64(d.Size) / float64(len(d.element())) }

// Value returns the XML content of a value with that many elements.
func (d DenseType) Value(elements int) string {
	var begin, end string
	for _, name := range d.Path[:len(d.Path)-1] {
		begin += "<" + name + ">"
		end = "</" + name + ">" + end
	}
	return begin + strings.Repeat(d.element(), elements) + end
}

// Densest returns the type in a registry with the highest density.
func Densest(t *testing.T, registry types.Func) DenseType {
	t.Helper()
	var densest DenseType
	for _, name := range typeNames(t) {
		kind, ok := registry(name)
		if !ok || kind.Kind() != reflect.Struct {
			continue
		}
		findDense(kind, nil, map[reflect.Type]bool{}, func(path []string, size int) {
			if d := (DenseType{name, path, size}); densest.Size == 0 || d.density() > densest.density() {
				densest = d
			}
		})
	}
	if densest.Size == 0 {
		t.Fatal("no type of govmomi's has a field that may be repeated")
	}
	return densest
}

func findDense(kind reflect.Type, path []string, seen map[reflect.Type]bool, found func(path []string, size int)) {
	if seen[kind] {
		return
	}
	seen[kind] = true
	for i := range kind.NumField() {
		f := kind.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("xml"), ",")
		below := append(append([]string{}, path...), name)
		if f.Anonymous {
			below = path
		}
		elem := f.Type
		switch elem.Kind() {
		case reflect.Slice:
			elem = elem.Elem()
			if name != "" && elem.Kind() != reflect.Uint8 {
				found(below, int(elem.Size()))
			}
		case reflect.Pointer:
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct && (name != "" || f.Anonymous) {
			findDense(elem, below, seen, found)
		}
	}
}

// typeNames parses govmomi's sources, since its registry does not list its types.
func typeNames(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/vmware/govmomi").Output()
	if err != nil {
		t.Fatalf("looking for govmomi's sources: %v", err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "vim25", "types", "types.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^type (\w+) `).FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	return names
}
