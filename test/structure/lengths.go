package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

const (
	maxFile     = 400 // lines
	maxFunction = 54  // lines, with its first and its last one
)

// lengths returns the files and the functions that are too long. Functions of tests may be: they
// are tables.
func (c *code) lengths(fset *token.FileSet) []violation {
	var found []violation
	for _, f := range slices.Concat(c.files, c.tests) {
		if n := fset.File(f.Pos()).LineCount(); n > maxFile {
			found = append(found, violation{c.path, "lines", fmt.Sprintf(
				"%s has %d lines, which is more than %d", base(fset, f.Pos()), n, maxFile)})
		}
	}
	for _, f := range c.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxFunction {
				found = append(found, violation{c.path, "lines", fmt.Sprintf(
					"%s: function %s has %d lines, which is more than %d", base(fset, f.Pos()), fn.Name.Name, n, maxFunction)})
			}
		}
	}
	return found
}
