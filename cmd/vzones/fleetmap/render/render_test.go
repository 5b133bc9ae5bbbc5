package render_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/fleetmap/fleetmaptest"
	"vzones/cmd/vzones/fleetmap/model"
	"vzones/cmd/vzones/fleetmap/render"
)

var update = flag.Bool("update", false, "write the golden files")

func plain(_ cli.Color, text string) string { return text }

func html(t *testing.T, m *model.Map) []byte {
	t.Helper()
	out, err := render.HTML(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestGolden compares each form of the example with testdata. The README shows example.svg.
func TestGolden(t *testing.T) {
	m := model.Build(fleetmaptest.Example())
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	without := fleetmaptest.Example()
	without.Nodes, without.Cluster, without.Foreign = nil, false, 0
	for name, got := range map[string][]byte{
		"example.json": append(data, '\n'),
		"example.txt":  (&render.Tree{Hosts: 2, Paint: plain}).Print(m),
		"all.txt":      (&render.Tree{Hosts: -1, Paint: plain}).Print(m),
		"narrow.txt":   (&render.Tree{Hosts: -1, Width: 60, Paint: plain}).Print(m),
		"hosts.txt":    (&render.Tree{Hosts: 8, Paint: plain}).Print(model.Build(without)),
		"example.svg":  render.SVG(m),
		"example.html": html(t, m),
		"hosts.html":   html(t, model.Build(without)),
	} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs: run the test with -update and look at the difference\n%s", name, got)
		}
	}
}

// TestWidth: no line is wider than the terminal, and what is wrapped is complete.
func TestWidth(t *testing.T) {
	m := model.Build(fleetmaptest.Example())
	words := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("├└─│", r) }), " ")
	}
	whole := words(string((&render.Tree{Hosts: -1, Paint: plain}).Print(m)))
	for width := 50; width <= 200; width += 7 {
		out := string((&render.Tree{Hosts: -1, Width: width, Paint: plain}).Print(m))
		if got := words(out); got != whole {
			t.Errorf("width %d: %s\n is not\n%s", width, got, whole)
		}
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("width %d: %d columns: %s", width, n, line)
			}
		}
	}
}

// TestColors: a color is around each text of a line, and adds nothing else.
func TestColors(t *testing.T) {
	m := model.Build(fleetmaptest.Example())
	tree := func(paint func(cli.Color, string) string) string {
		return string((&render.Tree{Hosts: 3, Width: 70, Paint: paint}).Print(m))
	}
	colored := tree(func(c cli.Color, text string) string {
		if c == "" || text == "" {
			return text
		}
		return string(c) + text + "\x1b[0m"
	})
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored, ""); got != tree(plain) {
		t.Errorf("without colors it is\n%s\nand not\n%s", got, tree(plain))
	}
	for _, c := range []cli.Color{cli.Red, cli.Yellow, cli.Blue, cli.Bold, cli.Faint} {
		if !strings.Contains(colored, string(c)) {
			t.Errorf("nothing has the color %q", c)
		}
	}
}

// TestNamesOfOthers: whatever names are, they change neither the terminal nor the document.
func TestNamesOfOthers(t *testing.T) {
	m := model.Build(fleetmaptest.Hostile())
	for _, width := range []int{0, 80} {
		for line := range strings.Lines(string((&render.Tree{Hosts: -1, Width: width, Paint: plain}).Print(m))) {
			for _, r := range strings.TrimSuffix(line, "\n") {
				if !unicode.IsPrint(r) {
					t.Fatalf("%q is printed in %q", r, line)
				}
			}
		}
	}
	elements(t, render.SVG(m), "svg title desc style rect text circle g", "")
	page := string(html(t, m))
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	for _, bad := range []string{"<img", " onerror=alert(1)>", "onload=\"alert", "\x1b", "\u202e", "\x00"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
}

// elements fails if a document is not well-formed XML, or has other elements or attributes of events.
func elements(t *testing.T, data []byte, allowed, not string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(" "+allowed+" ", " "+e.Name.Local+" ") {
			t.Errorf("element %s%s", e.Name.Local, not)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") {
				t.Errorf("attribute %s of element %s", a.Name.Local, e.Name.Local)
			}
		}
	}
}

// TestLoadsNothing: neither picture nor page names another resource, and the page's policy allows none.
func TestLoadsNothing(t *testing.T) {
	m := model.Build(fleetmaptest.Example())
	elements(t, render.SVG(m), "svg title desc style rect text circle g", "")
	page := string(html(t, m))
	if !strings.Contains(page, `content="default-src &#39;none&#39;;`) {
		t.Error("the page has no policy")
	}
	for _, text := range []string{page, string(render.SVG(m))} {
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		for _, bad := range []string{"http:", "https:", "url(", "@import", "src=", "fetch(", "XMLHttpRequest", "WebSocket", "innerHTML", "eval("} {
			if strings.Contains(text, bad) {
				t.Errorf("there is %q", bad)
			}
		}
	}
}

// TestDescription: the picture of a large fleet says all of it to those who do not see it.
func TestDescription(t *testing.T) {
	picture := string(render.SVG(model.Build(fleetmaptest.Large(10, 600))))
	_, rest, _ := strings.Cut(picture, `<desc id="d">`)
	text, _, _ := strings.Cut(rest, "</desc>")
	if n := strings.Count(text, ", zone zone-vc-"); n != 30 {
		t.Errorf("it names %d zones: %s", n, text)
	}
}

// TestLarge: 5,000 Nodes are drawn in files of a few megabytes, and in linear time: it takes a fraction of a
// second where nothing else runs.
func TestLarge(t *testing.T) {
	start := time.Now()
	m := model.Build(fleetmaptest.Large(10, 5000))
	if m.Counts.Nodes != 5000 || m.Counts.Zones != 30 || m.Counts.ControlPlane != 30 {
		t.Errorf("%+v", m.Counts)
	}
	sizes := map[string]int{
		"tree": len((&render.Tree{Hosts: 5, Paint: plain}).Print(m)), "svg": len(render.SVG(m)), "html": len(html(t, m)),
	}
	for form, most := range map[string]int{"tree": 150_000, "svg": 4 << 20, "html": 3 << 20} {
		if sizes[form] > most || sizes[form] < 10_000 {
			t.Errorf("%s has %d bytes", form, sizes[form])
		}
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it takes %v", took)
	}
}
