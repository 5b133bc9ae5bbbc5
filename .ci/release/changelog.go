package main

import (
	"fmt"
	"strings"
)

// section returns what a changelog has below the heading of a version, as Keep a Changelog
// has it: "## [1.37.0] - 2026-12-01", or "## [Unreleased]". Links that lead from the root of
// the sources stay as they are.
func section(changelog, version string) (string, error) {
	var b strings.Builder
	inside, found := false, 0
	for line := range strings.Lines(changelog) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			name, _, _ := strings.Cut(strings.TrimPrefix(heading, "["), "]")
			if inside = strings.TrimSpace(name) == version; inside {
				found++
			}
			continue
		}
		if inside {
			b.WriteString(line)
		}
	}
	text := strings.TrimSpace(b.String())
	switch {
	case found != 1:
		return "", fmt.Errorf("CHANGELOG.md has %d sections %q, want one", found, "## ["+version+"]")
	case text == "":
		return "", fmt.Errorf("CHANGELOG.md has nothing in its section %q", "## ["+version+"]")
	}
	return text, nil
}
