// Package docs_test checks the documentation: that its links resolve, and that
// its references say what the code does.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// rows returns the rows of all tables below a heading, up to the next heading of
// any level, without the tables' heads. Backquotes are taken off the first cell.
func rows(t *testing.T, text, heading string) [][]string {
	t.Helper()
	_, below, ok := strings.Cut(text, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("no heading %q", heading)
	}
	var all [][]string
	inTable := false
	for line := range strings.Lines(below) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			return all
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case strings.HasPrefix(line, "|--"):
			inTable = true
		case inTable:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			cells[0] = strings.Trim(cells[0], "`")
			all = append(all, cells)
		}
	}
	return all
}

// sources returns the parsed Go files below folders, without those of tests, by path.
func sources(t *testing.T, folders ...string) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			all[filepath.ToSlash(path)], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no Go files in %v", folders)
	}
	return all
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

// written returns an expression as it is written.
func written(e ast.Expr) string { return types.ExprString(e) }
