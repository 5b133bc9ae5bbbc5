package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// documents calls f with each page of the documentation.
func documents(t *testing.T, f func(page, text string)) {
	t.Helper()
	paths := []string{"../../README.md"}
	err := filepath.WalkDir("../../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "decisions" {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f(path, string(text))
	}
}

// TestPipes: the tool takes what another program prints, in the pipes of the pages.
func TestPipes(t *testing.T) {
	piped := regexp.MustCompile(`(?m)^ *[a-z].* \| (vzones [^|>\n]*)`)
	count := 0
	documents(t, func(page, text string) {
		for _, m := range piped.FindAllStringSubmatch(text, -1) {
			count++
			var stderr strings.Builder
			args := strings.Fields(m[1])[1:]
			if status := run(args, strings.NewReader(aYAML), io.Discard, &stderr); status != right {
				t.Errorf("%s: %s: status %d: %s", page, m[1], status, &stderr)
			}
		}
	})
	if count == 0 {
		t.Error("no page has a pipe")
	}
}

// TestCommandsInText: a command that a page names in a sentence is there, with its flags.
func TestCommandsInText(t *testing.T) {
	inText := regexp.MustCompile("`vzones ([a-z]+( [^`\n]*)?)`")
	count := 0
	documents(t, func(page, text string) {
		for _, m := range inText.FindAllStringSubmatch(text, -1) {
			words := strings.Fields(m[1])
			if len(words) > 3 && words[0] == "has" {
				continue // a message that begins with the name of the daemon
			}
			count++
			cmd, _, err := (&tool{}).command().Find(words[:1])
			if err != nil {
				t.Errorf("%s: vzones %s: %v", page, m[1], err)
				continue
			}
			for _, word := range words[1:] {
				if name, ok := strings.CutPrefix(word, "-"); ok && name != "" && !hasFlag(cmd, strings.TrimPrefix(name, "-")) {
					t.Errorf("%s: vzones %s: there is no flag %s", page, m[1], word)
				}
			}
		}
	})
	if count == 0 {
		t.Error("no page names a command")
	}
}

func hasFlag(cmd *cobra.Command, name string) bool {
	name, _, _ = strings.Cut(name, "=")
	return cmd.Flags().Lookup(name) != nil || len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil
}

// TestExamplesAreInScripts: a script runs each example of a command that needs vCenters, as it is but
// for where the output goes.
func TestExamplesAreInScripts(t *testing.T) {
	entered := map[string]bool{}
	run := regexp.MustCompile(`(?m)^(?:! )?exec (?:sh -c 'exec )?(vzones .*?)(?: > \w+')?(?: &\w*&)?$`)
	scripts, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range run.FindAllStringSubmatch(string(text), -1) {
			entered[strings.TrimSpace(m[1])] = true
		}
	}
	count := 0
	for _, cmd := range commands() {
		if cmd.Hidden {
			continue
		}
		for line := range strings.Lines(cmd.Example) {
			if !readsFleet(line) {
				continue // TestExamples runs the others
			}
			count++
			example, _, _ := strings.Cut(strings.TrimSpace(line), " > ")
			if !entered[example] {
				t.Errorf("no script has %s", example)
			}
		}
	}
	if count == 0 {
		t.Error("no help text has examples")
	}
}
