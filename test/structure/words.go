package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

//go:embed words.txt
var words string

// banned is a word or a phrase, and what to write instead.
type banned struct {
	pattern *regexp.Regexp
	instead string
}

// bannedIn returns what may not be written in a place, "name" or "text".
func bannedIn(place string) []banned {
	var all []banned
	for fields := range wordLines() {
		if fields[0] != "all" && fields[0] != place {
			continue
		}
		all = append(all, banned{
			pattern: regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(fields[1]), " ", `\s+`) + `\b`),
			instead: fields[2],
		})
	}
	return all
}

// wordLines yields the three fields of each line of words.txt.
func wordLines() func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(words) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			if len(fields) == 3 && !strings.HasPrefix(line, "#") && !yield(fields) {
				return
			}
		}
	}
}

// isException reports whether words.txt lists a name of the packages in a folder and below.
func isException(folder, name string) bool {
	for fields := range wordLines() {
		if in, exception, _ := strings.Cut(fields[1], " "); fields[0] == "except" && exception == name &&
			(in == "." || strings.Contains(filepath.ToSlash(folder)+"/", "/"+in+"/")) {
			return true
		}
	}
	return false
}

// wording returns the banned words in what the files of the folders and below declare, and in
// their comments and string literals. It needs nothing compiled, so it reads other modules too.
func wording(fset *token.FileSet, folders []string) ([]violation, error) {
	var found []violation
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != folder && (d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "bin"):
				return filepath.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".go":
				return nil
			}
			in, err := wordingOf(fset, path)
			found = append(found, in...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// wordingOf returns the banned words of one file.
func wordingOf(fset *token.FileSet, path string) ([]violation, error) {
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	names, texts := bannedIn("name"), bannedIn("text")
	var found []violation
	check := func(p token.Pos, in []banned, text string) {
		for _, b := range in {
			if word := b.pattern.FindString(text); word != "" {
				found = append(found, violation{filepath.ToSlash(filepath.Dir(path)), "words", fmt.Sprintf("%s:%d: %q: write %q",
					base(fset, p), fset.Position(p).Line, word, b.instead)})
			}
		}
	}
	checkName := func(p token.Pos, name string) {
		if !isException(folder, name) {
			check(p, names, separate(name))
		}
	}
	checkName(f.Name.Pos(), strings.TrimSuffix(base(fset, f.Pos()), ".go"))
	for _, g := range f.Comments {
		check(g.Pos(), texts, strings.NewReplacer("\n//", " ").Replace(g.Text()))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			check(l.Pos(), texts, l.Value)
		}
		for _, id := range declared(n) {
			checkName(id.Pos(), id.Name)
		}
		return true
	})
	return found, nil
}

// declared returns the names that a node itself declares.
func declared(n ast.Node) []*ast.Ident {
	identifiers := func(all ...ast.Expr) (found []*ast.Ident) {
		for _, e := range all {
			if id, ok := e.(*ast.Ident); ok {
				found = append(found, id)
			}
		}
		return found
	}
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.Field:
		return n.Names
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return identifiers(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return slices.Concat(identifiers(n.Key), identifiers(n.Value))
		}
	}
	return nil
}

// separate puts blanks between the words of a name: "retagNow" is "retag Now".
func separate(name string) string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) || r == '_' {
			b.WriteByte(' ')
		}
		if r != '_' {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}
