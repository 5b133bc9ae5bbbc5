package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// held are the folders whose packages keep the rules, with all below.
var held = []string{"config", "vcenter", "provider", "cmd/vsphere-cloud-controller-manager/app"}

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
		"tidy": nil,
		"words": {
			`words: words.go:1: "told of": write "reported, logged, learns of"`,
			`words: words.go:5: "complaint": write "condition, Event"`,
			`words: words.go:5: "hearsay": write "what is not confirmed"`,
			`words: words.go:9: "anew": write "again"`,
			`words: words.go:9: "doubt": write "absence (un)certain"`,
			`words: words_test.go:3: "Teller": write "event recorder"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(&stdout, &stderr, []string{filepath.Join("testdata", name)})
			var got []string
			for line := range strings.Lines(stdout.String()) {
				got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "vzones/test/structure/testdata/"+name+": "))
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
