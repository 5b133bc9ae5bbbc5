package chart

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// eachInvalid calls f for each values file of an archive with the reason in its first line.
func eachInvalid(t *testing.T, archive string, f func(t *testing.T, reason, content string)) int {
	t.Helper()
	parsed, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range parsed.Files {
		first, _, _ := strings.Cut(string(file.Data), "\n")
		reason, ok := strings.CutPrefix(first, "# refused: ")
		if !ok {
			t.Fatalf("%s of %s does not say why it is refused", file.Name, archive)
		}
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar")+"/"+file.Name, func(t *testing.T) {
			t.Parallel()
			f(t, reason, string(file.Data))
		})
	}
	return len(parsed.Files)
}

// TestRejectedBySchema: values.schema.json rejects each values file at the place and for the single
// reason in its first line. Each file overrides the valid values of the plain manifest.
func TestRejectedBySchema(t *testing.T) {
	archives, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, archive := range archives {
		all += eachInvalid(t, archive, func(t *testing.T, reason, content string) {
			_, err := helm.Template(t.Context(), helm.Example("plain"), values(t, content))
			if err == nil {
				t.Fatal("it is rendered")
			}
			_, reasons, ok := strings.Cut(err.Error(), "values don't meet the specifications of the schema(s)")
			if !ok || !strings.Contains(reasons, "- "+reason) {
				t.Errorf("it is not refused for %q, but: %v", reason, err)
			}
			if n := strings.Count(reasons, "\n- at "); n != 1 {
				t.Errorf("%d errors, not the one it is about: %v", n, err)
			}
		})
	}
	if all < 20 {
		t.Errorf("%d values files", all)
	}
}

// TestRejectedByTemplates: the templates reject errors that the schema cannot detect, with
// instructions.
func TestRejectedByTemplates(t *testing.T) {
	eachInvalid(t, "testdata/impossible.txtar", func(t *testing.T, reason, content string) {
		_, err := helm.Template(t.Context(), helm.Example("plain"), values(t, content))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("it is not refused for %q, but: %v", reason, err)
		}
	})
}
