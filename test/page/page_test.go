package page

import (
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
