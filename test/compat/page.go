package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A pin is one row of the table of what is built in or tested with.
type pin struct{ what, module, folder, used string }

var pins = []pin{
	{"Kubernetes' libraries", "k8s.io/cloud-provider", ".", "built into the daemon, with `k8s.io/client-go` and others of the same version"},
	{"govmomi", "github.com/vmware/govmomi", ".", "built in; its simulator is the vCenter of all tests"},
	{"Kubernetes", modKubernetes, controlPlane, "the control plane of all tests"},
	{"etcd", "go.etcd.io/etcd/server/v3", controlPlane, "the same, with each minor of Kubernetes"},
	{"vSphere CPI", "k8s.io/cloud-provider-vsphere", "test/incumbent", "[taken over from and given back to](../how-to/develop.md#run-tests) in a test"},
}

// page returns the text of the page with current tables, of those that it has.
func page(root, text string, entries []entry, runs []run) (string, error) {
	pinned, err := pinTable(root)
	if err != nil {
		return "", err
	}
	for _, part := range []struct{ name, table string }{
		{"pins", pinned},
		{"results", resultTable(entries, runs)},
	} {
		if text, err = between(text, part.name, part.table); err != nil {
			return "", err
		}
	}
	return text, nil
}

// between replaces what is between the marks of a table.
func between(text, name, table string) (string, error) {
	begin, end := "<!-- "+name+": written by make compat -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(text, begin)
	if !ok {
		return text, nil
	}
	_, after, closed := strings.Cut(rest, end)
	if !closed {
		return "", fmt.Errorf("%s has no %s", pageFile, end)
	}
	return before + begin + table + end + after, nil
}

func pinTable(root string) (string, error) {
	var b strings.Builder
	b.WriteString("| what | version | for |\n|---|---|---|\n")
	version, err := goOf(root, ".")
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "| Go | %s or newer | builds everything |\n", version)
	for _, p := range pins {
		version, err := required(root, p.folder, p.module)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s, `%s` | %s | %s |\n", p.what, p.module, version, p.used)
	}
	return b.String(), nil
}

func resultTable(entries []entry, runs []run) string {
	if len(runs) == 0 {
		return "No run is recorded.\n"
	}
	var b strings.Builder
	b.WriteString("| Kubernetes | etcd | passed | failed | left out | not run | date | commit | built with |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		fmt.Fprintf(&b, "| %s | %s | %d of %d | %s | %s | %s | %s | `%.12s` | %s, %s |\n", r.Kubernetes, r.Etcd,
			len(r.of(passed)), len(entries), namesOrNone(r.of(failed)), namesOrNone(r.of(leftOut)), namesOrNone(r.missing(entries)), r.Date, r.Commit, r.Go, r.Platform)
	}
	for _, r := range runs {
		for _, one := range r.Results {
			if one.Why != "" {
				fmt.Fprintf(&b, "\n- Kubernetes %s, `%s`: %s: %s\n", r.Kubernetes, one.Name, one.Outcome, one.Why)
			}
		}
	}
	return b.String()
}

func namesOrNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return "`" + strings.Join(names, "`, `") + "`"
}

// writePage writes the tables into the page.
func writePage(root string, entries []entry, runs []run) error {
	file := filepath.Join(root, pageFile)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := page(root, string(data), entries, runs)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
