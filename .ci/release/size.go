package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"vzones/ci/release/image"
)

// listed is how many modules the table has, the largest first.
const listed = 24

// standard is what stands for the module of packages that come with Go.
const standard = "Go's standard library"

// A share is what a module has of a binary.
type share struct {
	module     string
	code, data uint64
	packages   map[string]bool
}

// printSize prints what makes the size of the daemon, as the table of
// docs/reference/image.md.
func (o *options) printSize(ctx context.Context) error {
	p := platform{"linux", "amd64"}
	stripped, err := o.build(ctx, image.Command, p)
	if err != nil {
		return err
	}
	// Names of functions and variables are all that this has more.
	named, err := o.build(ctx, image.Command, p, "STRIP=-w")
	if err != nil {
		return err
	}
	return printShares(o.stdout, named, len(stripped))
}

// printShares prints the table of a binary with symbols, which has a size without them.
func printShares(w io.Writer, named []byte, size int) error {
	shares, tables, err := weigh(named)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "| part | code | data | packages |\n|---|---|---|---|\n")
	rest := share{packages: map[string]bool{}}
	for i, s := range shares {
		if i < listed {
			name := "`" + s.module + "`"
			if s.module == standard {
				name = s.module
			}
			fmt.Fprintf(w, "| %s | %s | %s | %d |\n", name, megabytes(s.code), megabytes(s.data), len(s.packages))
			continue
		}
		rest.code += s.code
		rest.data += s.data
		maps.Copy(rest.packages, s.packages)
	}
	if n := len(shares) - listed; n > 0 {
		fmt.Fprintf(w, "| %d further modules | %s | %s | %d |\n", n, megabytes(rest.code), megabytes(rest.data), len(rest.packages))
	}
	for _, t := range tables {
		fmt.Fprintf(w, "| %s | | %s | |\n", t.name, megabytes(t.size))
	}
	_, err = fmt.Fprintf(w, "| **the binary** | | **%s** | |\n", megabytes(uint64(size)))
	return err
}

func megabytes(n uint64) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }

// A table is a part of a binary that belongs to no module.
type table struct {
	name string
	size uint64
}

// weigh returns what each module has of a binary that has its symbols, the largest first,
// and the tables that the linker adds for all of them.
func weigh(binary []byte) ([]*share, []table, error) {
	program, err := elf.NewFile(bytes.NewReader(binary))
	if err != nil {
		return nil, nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, nil, err
	}
	symbols, err := program.Symbols()
	if err != nil {
		return nil, nil, err
	}
	modules := []string{info.Main.Path}
	for _, d := range info.Deps {
		modules = append(modules, d.Path)
	}
	shares := map[string]*share{}
	counted := map[elf.SectionIndex]uint64{}
	for _, s := range symbols {
		if s.Size == 0 || int(s.Section) >= len(program.Sections) || s.Section == elf.SHN_UNDEF {
			continue
		}
		section := program.Sections[s.Section]
		pkg := packageOf(s.Name)
		if pkg == "" || section.Type == elf.SHT_NOBITS {
			continue
		}
		module := moduleOf(pkg, modules)
		if shares[module] == nil {
			shares[module] = &share{module: module, packages: map[string]bool{}}
		}
		shares[module].packages[pkg] = true
		counted[s.Section] += s.Size
		if section.Flags&elf.SHF_EXECINSTR != 0 {
			shares[module].code += s.Size
		} else {
			shares[module].data += s.Size
		}
	}
	var all []*share
	for _, s := range shares {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.code+b.data, a.code+a.data), cmp.Compare(a.module, b.module))
	})
	return all, tables(program, counted), nil
}

// tables returns what sections have beyond the symbols of modules.
func tables(program *elf.File, counted map[elf.SectionIndex]uint64) []table {
	known := map[string]string{
		".gopclntab": "lines, files and stack maps of all functions, for stack traces and the garbage collector",
		".rodata":    "types, strings and constants that no package has for itself",
	}
	var all []table
	var rest uint64
	for i, s := range program.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS {
			continue
		}
		size := s.FileSize - min(s.FileSize, counted[elf.SectionIndex(i)])
		if name := known[s.Name]; name != "" {
			all = append(all, table{name, size})
			continue
		}
		rest += size
	}
	return append(all, table{"other tables", rest})
}

// packageOf returns the package that a symbol belongs to, "" for none.
func packageOf(symbol string) string {
	// Types, equality functions and such are named after what they are of.
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "type:.namedata.", "type:.importpath.", "type:*", "type:", "go:itab.*", "go:itab."} {
		if rest, ok := strings.CutPrefix(symbol, prefix); ok {
			symbol = rest
			break
		}
	}
	// Type arguments have packages of their own.
	symbol, _, _ = strings.Cut(symbol, "[")
	slash := strings.LastIndex(symbol, "/")
	dot := strings.Index(symbol[slash+1:], ".")
	if dot <= 0 || strings.ContainsAny(symbol[:slash+1+dot], " (*:,{\"") {
		return ""
	}
	// Dots of a path's last element are escaped.
	pkg, err := url.PathUnescape(symbol[:slash+1+dot])
	if err != nil {
		return ""
	}
	return pkg
}

// moduleOf returns the module that a package is of.
func moduleOf(pkg string, modules []string) string {
	longest := ""
	for _, m := range modules {
		if (pkg == m || strings.HasPrefix(pkg, m+"/")) && len(m) > len(longest) {
			longest = m
		}
	}
	if longest == "" {
		if pkg == "main" {
			return modules[0]
		}
		return standard
	}
	return longest
}
