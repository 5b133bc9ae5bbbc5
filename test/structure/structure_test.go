package main

import (
	"bytes"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// held are the folders whose packages keep the rules of structure, with all below.
var held = []string{"topology", "config", "vcenter", "provider", "cmd/vzones", "cmd/vsphere-cloud-controller-manager/app"}

func TestStructure(t *testing.T) {
	var folders []string
	for _, f := range held {
		folders = append(folders, filepath.Join("../..", f))
	}
	found, err := violations(folders)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

func TestWording(t *testing.T) {
	found, err := wording(token.NewFileSet(), []string{"../.."})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range sorted(found) {
		t.Error(v)
	}
}

// TestViolations plays the command on packages each of which breaks one rule, or just does not.
func TestViolations(t *testing.T) {
	for name, want := range map[string][]string{
		"mutual": {
			"files: a.go and b.go use each other: a.go uses b; b.go uses current, value",
			"files: d.go and e.go use each other: d.go uses zero; e.go uses length",
		},
		"onetype":     nil,
		"fields":      {"fields: 16 fields of many change outside of its constructors, which is more than 15: a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p"},
		"constructed": nil,
		"long": {
			"lines: file.go has 401 lines, which is more than 400",
			"lines: file_test.go has 401 lines, which is more than 400",
			"lines: functions.go: function tooLong has 55 lines, which is more than 54",
		},
		"tidy":  nil,
		"words": wantedWords(t),
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(&stdout, &stderr, []string{filepath.Join("testdata", name)})
			var got []string
			for line := range strings.Lines(stdout.String()) {
				_, text, _ := strings.Cut(strings.TrimSpace(line), "testdata/"+name+": ")
				got = append(got, text)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s%s", diff, stderr.String())
			}
			if want := min(len(want), 1); status != want {
				t.Errorf("status %d, want %d", status, want)
			}
		})
	}
}

func TestNoFolder(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(&stdout, &stderr, []string{"testdata/missing"}); status != 2 || stderr.Len() == 0 {
		t.Errorf("status %d, standard error %q", status, stderr.String())
	}
}

// wantedWords returns what is to be found in testdata/words. This file may not contain the words.
func wantedWords(t *testing.T) []string {
	text, err := os.ReadFile("testdata/words/want.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
