package chart

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// bad calls f for each values file in an archive, with the reason in its first line.
func bad(t *testing.T, archive string, f func(t *testing.T, reason, content string)) int {
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

// TestRefusedBySchema: each of the values files is refused by values.schema.json, with
// the place and for the one reason that its first line has. Each is laid over the values of
// the plain manifest, which are right.
func TestRefusedBySchema(t *testing.T) {
	archives, err := filepath.Glob("testdata/refused/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, archive := range archives {
		all += bad(t, archive, func(t *testing.T, reason, content string) {
			_, err := helm.Template(t.Context(), helm.Example("plain"), values(t, content))
			if err == nil {
				t.Fatal("it is rendered")
			}
			_, reasons, ok := strings.Cut(err.Error(), "values don't meet the specifications of the schema(s)")
			if !ok || !strings.Contains(reasons, "- "+reason) {
				t.Errorf("it is not refused for %q, but: %v", reason, err)
			}
			if n := strings.Count(reasons, "\n- at "); n != 1 {
				t.Errorf("%d mistakes, not the one it is about: %v", n, err)
			}
		})
	}
	if all < 20 {
		t.Errorf("%d values files", all)
	}
}

// TestRefusedByTemplates: what the schema cannot know is refused with what to do.
func TestRefusedByTemplates(t *testing.T) {
	bad(t, "testdata/impossible.txtar", func(t *testing.T, reason, content string) {
		_, err := helm.Template(t.Context(), helm.Example("plain"), values(t, content))
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("it is not refused for %q, but: %v", reason, err)
		}
	})
}
