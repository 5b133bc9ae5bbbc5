package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// uses is which symbols of another file a file uses.
type uses map[[2]string]map[string]bool

// mutual returns the pairs of files that use each other. What belongs to a type that both
// declare, or have methods of, does not count: that is one thing that is too long for one file.
func (c *code) mutual(fset *token.FileSet) []violation {
	if c.types == nil {
		return nil
	}
	file := func(p token.Pos) string { return base(fset, p) }
	uses, own, owner := uses{}, c.own(fset), c.owners()
	for id, o := range c.info.Uses {
		if o = origin(o); o.Pkg() != c.types || !o.Pos().IsValid() || !outlives(c.types, o) {
			continue
		}
		pair := [2]string{file(id.Pos()), file(o.Pos())}
		if t := owner(o); pair[0] == pair[1] || own[pair[0]][t] && own[pair[1]][t] {
			continue
		}
		if uses[pair] == nil {
			uses[pair] = map[string]bool{}
		}
		uses[pair][o.Name()] = true
	}
	var found []violation
	for pair, there := range uses {
		back := uses[[2]string{pair[1], pair[0]}]
		if pair[0] > pair[1] || back == nil {
			continue
		}
		found = append(found, violation{c.path, "files", fmt.Sprintf(
			"%s and %s use each other: %s uses %s; %s uses %s", pair[0], pair[1],
			pair[0], some(there), pair[1], some(back))})
	}
	return found
}

// outlives reports whether a use of o is a use of the file that declares it: a symbol of the
// package, a field or a method. Variables of functions, parameters and labels are used where
// they are declared.
func outlives(pkg *types.Package, o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField() || o.Parent() == pkg.Scope()
	case *types.Func:
		return true
	default:
		return o.Parent() == pkg.Scope()
	}
}

// origin is the declaration of what may belong to an instance of a generic type.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

// own returns, for each file, the types that it declares or has methods of.
func (c *code) own(fset *token.FileSet) map[string]map[string]bool {
	own := map[string]map[string]bool{}
	for _, f := range c.files {
		here := map[string]bool{}
		own[base(fset, f.Pos())] = here
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					here[receiver(d.Recv.List[0].Type)] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if t, ok := s.(*ast.TypeSpec); ok {
						here[t.Name.Name] = true
					}
				}
			}
		}
	}
	return own
}

// receiver returns the name of the type that has a method.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// owners returns a function that names the type of a symbol: of a method or a field, or
// itself. It returns an empty name for everything else.
func (c *code) owners() func(types.Object) string {
	fields := map[types.Object]string{}
	for _, name := range c.types.Scope().Names() {
		t, ok := c.types.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if s, ok := t.Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				fields[f] = name
			}
		}
	}
	return func(o types.Object) string {
		switch o := o.(type) {
		case *types.TypeName:
			return o.Name()
		case *types.Func:
			return methodOf(o)
		}
		return fields[o]
	}
}

// methodOf returns the name of the type that a function is a method of, empty if it is of none.
func methodOf(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return ""
	}
	t := recv.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

// some lists the first few symbols.
func some(set map[string]bool) string {
	const most = 8
	all := slices.Sorted(maps.Keys(set))
	if len(all) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
	}
	return strings.Join(all, ", ")
}
