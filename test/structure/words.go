package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/token"
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
	for line := range strings.Lines(words) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 || strings.HasPrefix(line, "#") || fields[0] != "all" && fields[0] != place {
			continue
		}
		all = append(all, banned{
			pattern: regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(fields[1]), " ", `\s+`) + `\b`),
			instead: fields[2],
		})
	}
	return all
}

// wording returns the banned words in what the files declare, and in their comments and string literals.
func (c *code) wording(fset *token.FileSet) []violation {
	names, texts := bannedIn("name"), bannedIn("text")
	var found []violation
	look := func(p token.Pos, in []banned, text string) {
		for _, b := range in {
			if word := b.pattern.FindString(text); word != "" {
				found = append(found, violation{c.path, "words", fmt.Sprintf("%s:%d: %q: write %q",
					base(fset, p), fset.Position(p).Line, word, b.instead)})
			}
		}
	}
	for _, f := range slices.Concat(c.files, c.tests) {
		declared := map[token.Pos]bool{}
		look(f.Name.Pos(), names, base(fset, f.Pos()))
		for _, g := range f.Comments {
			look(g.Pos(), texts, strings.NewReplacer("\n//", " ").Replace(g.Text()))
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					look(n.Pos(), texts, n.Value)
				}
			case *ast.Ident:
				if o := c.info.Defs[n]; (o != nil || c.info.Uses[n] == nil && declares(f, n)) && !declared[n.Pos()] {
					declared[n.Pos()] = true
					look(n.Pos(), names, separate(n.Name))
				}
			}
			return true
		})
	}
	return found
}

// declares reports whether a name of a test, whose identifiers are not resolved, is declared at the top
// level of the file.
func declares(f *ast.File, id *ast.Ident) bool {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name == id {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name == id {
					return true
				}
			}
		}
	}
	return false
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
