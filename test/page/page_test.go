package page

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const aPage = "# Page\n\n```text\nno\n```\n\n## One\n\n```sh\n# a comment\n```\n\n```text\n1\n\n2\n```\n\n```text\n3\n```\n\n## Two\n\n```text\n4\n```\n"

// TestOutputs: a heading has its own blocks of kind text, and no others.
func TestOutputs(t *testing.T) {
	for heading, want := range map[string][]string{"One": {"1\n\n2\n", "3\n"}, "Two": {"4\n"}, "Three": nil, "a comment": nil} {
		if got := outputs(aPage, heading); !slices.Equal(got, want) {
			t.Errorf("%s: %q", heading, got)
		}
	}
	if !strings.HasPrefix(Read(t, "README.md"), "# ") {
		t.Error("README.md has no title")
	}
}

// TestMatches: an ellipsis is any lines, or any text within one, and anything else is itself.
func TestMatches(t *testing.T) {
	printed := strings.Fields("a b-c-d e")
	for shown, want := range map[string]bool{
		"a b-c-d e": true, "a … e": true, "…": true, "… a b-c-d e …": true, "a b…d e": true, "a …c… e": true, "a b-…-… e": true,
		"a e": false, "a … b-c-d": false, "a b-c-d e f": false, "": false, "a c… e": false, "a …c e": false, "a b-…-c… e": false, "a b-c-…-c-d e": false,
	} {
		if got := matches(strings.Fields(shown), printed); got != want {
			t.Errorf("%q: %v", shown, got)
		}
	}
}

// TestLines: what differs is replaced, and blanks and empty lines around it do not count.
func TestLines(t *testing.T) {
	got := lines("\n1 a  \n\n 22 b\n\n", []Difference{{regexp.MustCompile(`\d+`), "0"}})
	if want := []string{"0 a", "", " 0 b"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
