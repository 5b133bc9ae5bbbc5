package docs_test

import (
	"fmt"
	"go/doc"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is a module in go.mod that is no other module's dependency only.
var module = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// folder is a package of the module.
type folder struct {
	holds         string
	local, others []string // the imports: folders of this module, and short names of other modules
}

// folders returns the packages of the daemon and the tool, by folder.
func folders(t *testing.T) map[string]folder {
	t.Helper()
	var modules []string
	for _, m := range module.FindAllStringSubmatch(read(t, "../go.mod"), -1) {
		modules = append(modules, m[1])
	}
	all := map[string]folder{}
	for file, parsed := range sources(t, "../topology", "../config", "../vcenter", "../provider", "../cmd", "../manifests") {
		name := path.Dir(strings.TrimPrefix(file, "../"))
		// Packages that only tests use end in "test".
		if strings.Contains(name, "testdata") || strings.HasSuffix(name, "test") {
			continue
		}
		f := all[name]
		if parsed.Doc != nil {
			f.holds = holds(parsed.Doc.Text())
		}
		for _, i := range parsed.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if local, ok := strings.CutPrefix(imported, "vzones/"); ok {
				f.local = append(f.local, local)
			} else if m := moduleOf(modules, imported); m != "" {
				f.others = append(f.others, m)
			} else if strings.Contains(strings.Split(imported, "/")[0], ".") {
				t.Errorf("%s imports %s, whose module go.mod does not have", file, imported)
			}
		}
		all[name] = f
	}
	for name, f := range all {
		slices.Sort(f.local)
		slices.Sort(f.others)
		f.local, f.others = slices.Compact(f.local), slices.Compact(f.others)
		all[name] = f
	}
	return all
}

// holds is what a package's comment begins with: "Package config owns …" gives "owns …".
func holds(comment string) string {
	sentence := strings.TrimSuffix(new(doc.Package).Synopsis(comment), ".")
	if f := strings.Fields(sentence); len(f) > 2 && (f[0] == "Package" || f[0] == "Command") {
		sentence = strings.Join(f[2:], " ")
	}
	return sentence
}

// moduleOf returns the short name of the module that has a package: "client-go" for
// k8s.io/client-go/kubernetes.
func moduleOf(modules []string, imported string) string {
	for _, m := range modules {
		if imported == m || strings.HasPrefix(imported, m+"/") {
			if v := regexp.MustCompile(`/v\d+$`); v.MatchString(m) {
				m = v.ReplaceAllString(m, "")
			}
			return path.Base(m)
		}
	}
	return ""
}

// inOrder returns the folders so that each imports only those before it.
func inOrder(all map[string]folder) []string {
	var order []string
	var visit func(name string)
	visit = func(name string) {
		if _, ok := all[name]; !ok || slices.Contains(order, name) {
			return
		}
		for _, l := range all[name].local {
			visit(l)
		}
		order = append(order, name)
	}
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	// Each folder's packages stay together as far as their imports let them.
	slices.SortFunc(names, func(a, b string) int {
		rank := func(n string) int {
			return slices.Index([]string{"topology", "config", "vcenter", "provider", "cmd", "manifests"}, strings.Split(n, "/")[0])
		}
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		visit(name)
	}
	return order
}

// TestLayout: the README's table has the packages and what they import.
func TestLayout(t *testing.T) {
	all := folders(t)
	var table strings.Builder
	table.WriteString("| folder | what it does | imports, and what these import | other modules |\n|---|---|---|---|\n")
	names := func(all []string, quote string) string {
		if len(all) == 0 {
			return "–"
		}
		return quote + strings.Join(all, quote+", "+quote) + quote
	}
	for _, name := range inOrder(all) {
		f := all[name]
		if f.holds == "" {
			t.Errorf("%s: no package comment", name)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, f.holds, names(direct(all, f.local), "`"), names(f.others, ""))
	}
	replaceBlock(t, "../README.md", "layout", "TestLayout", table.String())
}

// direct returns those of the folders that no other one of them imports in turn.
func direct(all map[string]folder, some []string) []string {
	return slices.DeleteFunc(slices.Clone(some), func(name string) bool {
		return slices.ContainsFunc(some, func(other string) bool { return other != name && imports(all, other, name) })
	})
}

// imports reports whether a folder imports another one, itself or through what it imports.
func imports(all map[string]folder, name, other string) bool {
	return slices.ContainsFunc(all[name].local, func(l string) bool { return l == other || imports(all, l, other) })
}

// replaceBlock compares the text between the comments "name: written by …" and "end of name" of a page
// with what it should be, and writes it with -update.
func replaceBlock(t *testing.T, page, name, by, want string) {
	t.Helper()
	text := read(t, page)
	begin, end := "<!-- "+name+": written by "+by+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: no block %q", page, name)
	}
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s is not current: go test ./docs -run %s -update", page, by)
		return
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestFoldersHaveOneComment: each package has one package comment.
func TestFoldersHaveOneComment(t *testing.T) {
	for _, root := range []string{"topology", "config", "vcenter", "provider", "cmd"} {
		count := map[string][]string{}
		for file, parsed := range sources(t, filepath.Join("..", root)) {
			if parsed.Doc != nil && !strings.Contains(file, "testdata") {
				count[path.Dir(file)] = append(count[path.Dir(file)], path.Base(file))
			}
		}
		for name, files := range count {
			if len(files) > 1 {
				slices.Sort(files)
				t.Errorf("%s: package comments in %v, write one", name, files)
			}
		}
	}
}
