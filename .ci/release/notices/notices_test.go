package notices

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestText: each text is there once, below all modules that it is for; those beside and
// above a linked package count, and those of others do not.
func TestText(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go/LICENSE":          "Copyright Go",
		"a/LICENSE":           "same text\r\n",
		"a/NOTICE":            "a's notice",
		"a/pkg/LICENSE.txt":   "inner text",
		"a/other/LICENSE":     "of a package that is not linked",
		"a/license.go":        "package a",
		"b/COPYING":           "same text\n\n",
		"b/README.md":         "no license",
		"main/LICENSE":        "our own",
		"a/pkg/LICENSES/list": "in a folder",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { text, _ := json.Marshal(filepath.Join(dir, name)); return string(text) }
	listed := `{"Dir":"/go/src/os","Standard":true}
{"Dir":` + in("main") + `,"Module":{"Path":"vzones","Dir":` + in("main") + `,"Main":true}}
{"Dir":` + in("b") + `,"Module":{"Path":"example.com/b","Version":"v2.0.0","Dir":` + in("b") + `}}
{"Dir":` + in("a/pkg") + `,"Module":{"Path":"example.com/a","Version":"v1.0.0","Dir":` + in("a") + `}}`
	packages, err := Packages(strings.NewReader(listed))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Text(packages, filepath.Join(dir, "go/LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	rule := "\n" + strings.Repeat("=", 72) + "\n"
	want := "Texts of the licenses of what this program is linked with.\n" +
		rule + "Go's standard library\n\nCopyright Go\n" +
		rule + "example.com/a v1.0.0\n\na's notice\n" +
		rule + "example.com/a v1.0.0\n\ninner text\n" +
		rule + "example.com/a v1.0.0\nexample.com/b v2.0.0\n\nsame text\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	_, err = Text(packages, filepath.Join(dir, "nowhere"))
	if err == nil || !strings.Contains(err.Error(), "nowhere") || !strings.Contains(err.Error(), "https://go.dev/dl") {
		t.Errorf("Go's license is missing: %v", err)
	}
}
