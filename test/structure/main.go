// Command structure prints what breaks the rules of the packages' structure and wording, in the
// folders that it is given and below: two files of a package that use each other, structs of which
// many fields change, long files and functions, and words that this project does not use. Its own
// test applies the rules of structure to the daemon's packages, and those of wording to all Go files.
//
// It never judges what code does, and which package may import which: that is depguard's part.
package main

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: structure FOLDER...")
		os.Exit(2)
	}
	os.Exit(run(os.Stdout, os.Stderr, os.Args[1:]))
}

// run prints the violations, one a line. The status is 1 if there are any, and 2 for an error.
func run(stdout, stderr io.Writer, folders []string) int {
	found, err := violations(folders)
	worded, errWording := wording(token.NewFileSet(), folders)
	if err := cmp.Or(err, errWording); err != nil {
		fmt.Fprintln(stderr, "structure:", err)
		return 2
	}
	for _, v := range sorted(slices.Concat(found, worded)) {
		fmt.Fprintln(stdout, v)
	}
	return min(len(found)+len(worded), 1)
}

// violation is one place that breaks a rule.
type violation struct {
	pkg, rule, text string
}

func (v violation) String() string { return v.pkg + ": " + v.rule + ": " + v.text }

// violations returns what breaks a rule of structure in the packages in the folders and below, in order.
func violations(folders []string) ([]violation, error) {
	fset := token.NewFileSet()
	packages, err := load(fset, folders)
	if err != nil {
		return nil, err
	}
	changes := changes{}
	for _, c := range packages {
		changes.collect(c)
	}
	var found []violation
	for _, c := range packages {
		found = slices.Concat(found, c.mutual(fset), c.fields(changes), c.lengths(fset))
	}
	return sorted(found), nil
}

func sorted(found []violation) []violation {
	slices.SortFunc(found, func(a, b violation) int {
		return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.rule, b.rule), cmp.Compare(a.text, b.text))
	})
	return found
}

// base is the name of the file that has the position.
func base(fset *token.FileSet, p token.Pos) string { return filepath.Base(fset.File(p).Name()) }
