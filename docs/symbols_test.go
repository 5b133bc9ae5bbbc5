package docs_test

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declarations returns the files that declare each symbol: functions, types, constants and variables by
// their names, methods and fields as "Type.Name".
func declarations(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for file, parsed := range sources(t, "../topology", "../config", "../vcenter", "../provider", "../cmd") {
		file = strings.TrimPrefix(file, "../")
		if strings.Contains(file, "testdata") {
			continue
		}
		for _, d := range parsed.Decls {
			for _, name := range declaredBy(d) {
				all[name] = append(all[name], file)
			}
		}
	}
	return all
}

func declaredBy(d ast.Decl) []string {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = strings.TrimPrefix(strings.Split(written(d.Recv.List[0].Type), "[")[0], "*") + "." + name
		}
		names = append(names, name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				var fields *ast.FieldList
				switch u := s.Type.(type) {
				case *ast.StructType:
					fields = u.Fields
				case *ast.InterfaceType:
					fields = u.Methods
				default:
					continue
				}
				for _, f := range fields.List {
					for _, n := range f.Names {
						names = append(names, s.Name.Name+"."+n.Name)
					}
				}
			}
		}
	}
	return names
}

// TestGlossaryNamesWhatExists: each identifier of the glossary is declared in its package.
func TestGlossaryNamesWhatExists(t *testing.T) {
	const page = "explanation/glossary.md"
	all, found := declarations(t), 0
	prose(read(t, page), func(line string) {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.HasPrefix(line, "|--") {
			return
		}
		for _, span := range code.FindAllString(cells[2], -1) {
			name := strings.Trim(span, "`")
			slash := strings.LastIndex(name, "/") + 1
			folder, symbol, ok := strings.Cut(name[slash:], ".")
			if !ok {
				continue
			}
			found++
			folder = name[:slash] + folder
			if !slices.ContainsFunc(all[symbol], func(file string) bool { return path.Dir(file) == folder }) {
				t.Errorf("%s: %s is not declared; files that declare %s: %v", page, name, symbol, all[symbol])
			}
		}
	})
	if found < 30 {
		t.Errorf("only %d identifiers", found)
	}
}

// step is a row of a sequence of calls: what happens, the function or type, and its file.
var step = regexp.MustCompile("(?m)^\\| (.+) \\| `([A-Za-z.]+)` \\| `([a-z0-9_/-]+\\.go)` \\|$")

// TestArchitectureNamesWhatExists: each function of the architecture is in the file that is beside it,
// and each file and folder that it names is there. With -update the files follow functions that moved.
func TestArchitectureNamesWhatExists(t *testing.T) {
	const page = "explanation/architecture.md"
	all, text := declarations(t), read(t, page)
	steps := step.FindAllStringSubmatch(text, -1)
	if len(steps) < 40 {
		t.Errorf("only %d steps", len(steps))
	}
	for _, m := range steps {
		symbol, file := m[2], m[3]
		if slices.Contains(all[symbol], file) {
			continue
		}
		if moved := near(all[symbol], file); *update && moved != "" {
			text = strings.ReplaceAll(text, m[0], strings.Replace(m[0], "`"+file+"`", "`"+moved+"`", 1))
			continue
		}
		t.Errorf("%s: %s does not declare %s; files that do: %v", page, file, symbol, all[symbol])
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	paths := regexp.MustCompile("`((?:topology|config|vcenter|provider|cmd|test|docs)(?:/[A-Za-z0-9_.-]+)+)`")
	named := map[string]bool{}
	for _, m := range paths.FindAllStringSubmatch(text, -1) {
		named[m[1]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if _, err := os.Stat(path.Join("..", name)); err != nil {
			t.Errorf("%s: %s is not there", page, name)
		}
	}
}

// near returns the one file of the same package, or else the only one of all.
func near(files []string, file string) string {
	same := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return path.Dir(f) != path.Dir(file) })
	switch {
	case len(same) == 1:
		return same[0]
	case len(files) == 1:
		return files[0]
	}
	return ""
}
