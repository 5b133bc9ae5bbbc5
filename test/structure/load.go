package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// code is one package, parsed and with its identifiers resolved.
type code struct {
	path string
	// files are those that are built; tests are parsed for their length only.
	files, tests []*ast.File
	info         *types.Info
	types        *types.Package
}

// listed is what go list prints of a package.
type listed struct {
	ImportPath, Dir, Export            string
	DepOnly                            bool
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// load parses and checks the packages in the folders and below. What does not compile is
// resolved as far as possible: whoever moves types around wants to know early.
func load(fset *token.FileSet, folders []string) ([]*code, error) {
	var all []*code
	for _, folder := range folders {
		list, err := list(folder)
		if err != nil {
			return nil, err
		}
		exports := map[string]string{}
		for _, p := range list {
			exports[p.ImportPath] = p.Export
		}
		from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
			if exports[path] == "" {
				return nil, fmt.Errorf("no export data of %s", path)
			}
			return os.Open(exports[path])
		})
		for _, p := range list {
			if p.DepOnly {
				continue
			}
			c, err := check(fset, from, p)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// list returns the packages in folder and below, and those that they import.
func list(folder string) ([]listed, error) {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps",
		"-json=ImportPath,Dir,Export,DepOnly,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return nil, fmt.Errorf("%s: go list: %w: %s", folder, err, stderr.String())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: go list: %w", folder, err)
		}
		all = append(all, p)
	}
}

func check(fset *token.FileSet, from types.Importer, p listed) (*code, error) {
	c := &code{path: p.ImportPath, info: &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	parse := func(names []string) (files []*ast.File, err error) {
		for _, name := range names {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		return files, nil
	}
	var err, errTests error
	c.files, err = parse(p.GoFiles)
	c.tests, errTests = parse(append(p.TestGoFiles, p.XTestGoFiles...))
	if err := cmp.Or(err, errTests); err != nil {
		return nil, err
	}
	conf := types.Config{Importer: from, Error: func(error) {}}
	// Its error is the first of those that are passed over.
	c.types, _ = conf.Check(p.ImportPath, fset, c.files, c.info)
	return c, nil
}
