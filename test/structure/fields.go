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

// maxFields is how many fields of a struct may change after its constructor returned.
const maxFields = 15

// changes is which fields of which types change. The key is the type with its package's path, as
// a type that is imported is another object than the one that was checked.
type changes map[string]map[string]bool

// collect adds the fields that the package changes outside of the constructors of their types.
func (into changes) collect(c *code) {
	for _, f := range c.files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			made := map[string]bool{}
			if o, ok := c.info.Defs[fn.Name].(*types.Func); ok {
				made = results(nil, o.Signature())
			}
			into.body(c.info, made, fn.Body)
		}
	}
}

// body adds the fields that a body changes, but for those of the types that it makes. A function
// literal in it may be a constructor too.
func (into changes) body(info *types.Info, made map[string]bool, body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		if l, ok := n.(*ast.FuncLit); ok {
			if t, ok := info.TypeOf(l).(*types.Signature); ok {
				into.body(info, results(made, t), l.Body)
				return false
			}
		}
		for _, e := range changed(info, n) {
			into.add(info, made, e)
		}
		return true
	})
}

// results adds the types that a function returns to those that are made around it.
func results(around map[string]bool, of *types.Signature) map[string]bool {
	made := maps.Clone(around)
	if made == nil {
		made = map[string]bool{}
	}
	for v := range of.Results().Variables() {
		makes(made, v.Type())
	}
	return made
}

// makes adds a type, and those that it embeds by value: they are made with it.
func makes(made map[string]bool, t types.Type) {
	made[typeName(t)] = true
	if t, ok := deref(t).Underlying().(*types.Struct); ok {
		for f := range t.Fields() {
			if _, pointer := f.Type().Underlying().(*types.Pointer); f.Embedded() && !pointer {
				makes(made, f.Type())
			}
		}
	}
}

// changed returns the expressions whose value the statement or call changes.
func changed(info *types.Info, n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.Ident:
			if b, ok := info.Uses[f].(*types.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear" || b.Name() == "copy") {
				return n.Args[:1]
			}
		case *ast.SelectorExpr:
			if m, ok := info.Uses[f.Sel].(*types.Func); ok && m.Pkg() != nil && m.Pkg().Path() == "sync/atomic" &&
				slices.Contains([]string{"Store", "Swap", "Add", "CompareAndSwap", "And", "Or"}, m.Name()) {
				return []ast.Expr{f.X}
			}
		}
	}
	return nil
}

// add adds the fields that e names: x.f, and both fields of x.f.g if f is no pointer.
func (into changes) add(info *types.Info, made map[string]bool, e ast.Expr) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		into.add(info, made, e.X)
	case *ast.IndexExpr: // an element of a map, a slice or an array
		into.add(info, made, e.X)
	case *ast.SelectorExpr:
		s, ok := info.Selections[e]
		if !ok || s.Kind() != types.FieldVal {
			return
		}
		owner := s.Recv()
		for _, i := range s.Index() {
			name := typeName(owner)
			t, ok := deref(owner).Underlying().(*types.Struct)
			if !ok {
				return
			}
			f := t.Field(i)
			if owner = f.Type(); name != "" && !made[name] && f.Name() == s.Obj().Name() {
				if into[name] == nil {
					into[name] = map[string]bool{}
				}
				into[name][f.Name()] = true
			}
		}
		if _, pointer := s.Recv().Underlying().(*types.Pointer); !pointer {
			into.add(info, made, e.X)
		}
	}
}

// fields returns the structs of the package of which too many fields change.
func (c *code) fields(in changes) []violation {
	if c.types == nil {
		return nil
	}
	var found []violation
	for _, name := range c.types.Scope().Names() {
		set := in[c.path+"."+name]
		if len(set) <= maxFields {
			continue
		}
		all := make([]string, 0, len(set))
		for f := range set {
			all = append(all, f)
		}
		slices.Sort(all)
		found = append(found, violation{c.path, "fields", fmt.Sprintf(
			"%d fields of %s change outside of its constructors, which is more than %d: %s",
			len(all), name, maxFields, strings.Join(all, ", "))})
	}
	return found
}

// typeName is the package's path and the name of a type of a package, or of what it points to.
func typeName(t types.Type) string {
	n, ok := deref(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

func deref(t types.Type) types.Type {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		return types.Unalias(p.Elem())
	}
	return t
}
