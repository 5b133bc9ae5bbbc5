// Package site_test checks the documentation site that make docs has built: that its links
// lead somewhere, that it loads nothing from elsewhere, and that whatever is in the pages can
// be found. Without VZONES_SITE, the folder of the site, there is nothing to check.
package site_test

import (
	"encoding/json"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	attribute = regexp.MustCompile(`<([a-z]+)[^<>]*? (href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(` id="([^"]*)"`)
	heading   = regexp.MustCompile(`<h[1-6] id="([^"]*)"`)
	title     = regexp.MustCompile(`<title>([^<]+)</title>`)
	first     = regexp.MustCompile(`<h1[ >]`)
	inNav     = regexp.MustCompile(`(?s)<nav aria-label="Pages">(.*?)</nav>`)
	article   = regexp.MustCompile(`(?s)<article>(.*?)</article>`)
)

// folder returns the folder of the site.
func folder(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("VZONES_SITE")
	if dir == "" {
		t.Skip("VZONES_SITE does not name the folder of a site: make docs does")
	}
	return dir
}

// site returns the HTML pages of the site, by path.
func site(t *testing.T) map[string]string {
	t.Helper()
	dir := folder(t)
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".html" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		pages[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) == 0 {
		t.Fatal("the site has no pages")
	}
	return pages
}

// TestLinks: every link within the site is relative and leads to a file of it, and to an
// anchor if it has one. Nothing is loaded from elsewhere.
func TestLinks(t *testing.T) {
	dir, pages := folder(t), site(t)
	anchors := map[string]map[string]bool{}
	for name, text := range pages {
		anchors[name] = map[string]bool{}
		for _, m := range anchor.FindAllStringSubmatch(text, -1) {
			if anchors[name][m[1]] {
				t.Errorf("%s has the anchor %q twice", name, m[1])
			}
			anchors[name][html.UnescapeString(m[1])] = true
		}
	}
	within := 0
	for name, text := range pages {
		for _, m := range attribute.FindAllStringSubmatch(text, -1) {
			element, value := m[1], html.UnescapeString(m[3])
			to, err := url.Parse(value)
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", name, value, err)
				continue
			case element == "a" && slices.Contains([]string{"https", "http", "mailto"}, to.Scheme):
				continue
			case element == "link" && value == "data:,": // no icon
				continue
			case to.Scheme != "" || to.Host != "":
				t.Errorf("%s: <%s> loads %s", name, element, value)
				continue
			case strings.HasPrefix(to.Path, "/"):
				t.Errorf("%s: %s leads out of the folder of the site", name, value)
				continue
			}
			within++
			file := name
			if to.Path != "" {
				file = path.Join(path.Dir(name), to.Path)
			}
			if info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file))); err != nil || info.IsDir() {
				t.Errorf("%s: %s leads nowhere", name, value)
			} else if to.Fragment != "" && !anchors[file][to.Fragment] {
				t.Errorf("%s: %s: no such anchor", name, value)
			}
		}
		if loads := regexp.MustCompile(`url\(|@import|<iframe|<object|srcset=`).FindString(text); loads != "" {
			t.Errorf("%s has %s", name, loads)
		}
	}
	if within == 0 {
		t.Error("no links found")
	}
}

// TestPages: each Markdown file below docs, and those of the repository itself, is a page
// with one title, and in the navigation of every page.
func TestPages(t *testing.T) {
	pages := site(t)
	var want []string
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" && !d.IsDir() {
			page := path.Join("docs", strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(name), "../"), ".md")+".html")
			if page == "docs/README.html" {
				page = "docs/contents.html"
			}
			want = append(want, page)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, "index.html", "CHANGELOG.html", "CONTRIBUTING.html", "RELEASING.html", "SECURITY.html", "manifests/chart/README.html")
	titles := map[string]string{}
	for _, name := range want {
		if pages[name] == "" {
			t.Errorf("%s is not there", name)
		}
	}
	for name, text := range pages {
		if !slices.Contains(want, name) {
			t.Errorf("%s is a page of no file", name)
		}
		if found := title.FindAllStringSubmatch(text, -1); len(found) != 1 {
			t.Errorf("%s has %d titles", name, len(found))
		} else if other := titles[found[0][1]]; other != "" {
			t.Errorf("%s and %s have the title %q", name, other, found[0][1])
		} else {
			titles[found[0][1]] = name
		}
		if n := len(first.FindAllString(text, -1)); n != 1 {
			t.Errorf("%s has %d headings of the first level", name, n)
		}
		if strings.Contains(text, "raw HTML omitted") {
			t.Errorf("%s has HTML that is left out: put it in backquotes", name)
		}
		nav := inNav.FindStringSubmatch(text)
		if nav == nil {
			t.Errorf("%s has no navigation", name)
			continue
		}
		led := map[string]bool{}
		for _, m := range attribute.FindAllStringSubmatch(nav[1], -1) {
			led[path.Join(path.Dir(name), m[3])] = true
		}
		for _, page := range want {
			if !led[page] {
				t.Errorf("the navigation of %s does not have %s", name, page)
			}
		}
		if n := strings.Count(nav[1], `aria-current="page"`); n != 1 {
			t.Errorf("the navigation of %s has %d current pages", name, n)
		}
	}
}

// An index is what search-index.js has.
type index struct {
	Pages    []struct{ Title, URL string }
	Sections []struct {
		Page                  int
		Anchor, Heading, Text string
	}
}

// readIndex returns what the search looks through.
func readIndex(t *testing.T) index {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(t), "search-index.js"))
	if err != nil {
		t.Fatal(err)
	}
	script, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "window.vzonesSearchIndex = ")
	if !ok {
		t.Fatal("search-index.js does not begin as it should")
	}
	var found index
	if err := json.Unmarshal([]byte(strings.TrimSuffix(script, ";")), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestIndex: the search has every section of every page, and the text of each.
func TestIndex(t *testing.T) {
	pages, found := site(t), readIndex(t)
	have := map[string]string{}
	for _, s := range found.Sections {
		page := found.Pages[s.Page]
		if page.Title == "" || s.Heading == "" {
			t.Errorf("%s#%s: no title or no heading", page.URL, s.Anchor)
		}
		have[page.URL+"#"+s.Anchor] = s.Heading + " " + s.Text
	}
	for name, text := range pages {
		body := article.FindStringSubmatch(text)
		if body == nil {
			t.Errorf("%s has no article", name)
			continue
		}
		for _, m := range heading.FindAllStringSubmatch(body[1], -1) {
			if _, ok := have[name+"#"+m[1]]; !ok {
				t.Errorf("%s#%s is not in the index", name, m[1])
			}
		}
	}
	var all strings.Builder
	for _, text := range have {
		all.WriteString(text + "\n")
	}
	lost := 0
	for name, text := range pages {
		body := article.FindStringSubmatch(text)[1]
		for _, m := range regexp.MustCompile(`<code>([^<]+)</code>`).FindAllStringSubmatch(body, -1) {
			// Line breaks are blanks in the index.
			if code := strings.Join(strings.Fields(html.UnescapeString(m[1])), " "); !strings.Contains(all.String(), code) {
				lost++
				t.Errorf("%s: `%s` is not in the index", name, code)
			}
			if lost > 20 {
				t.FailNow()
			}
		}
	}
}

// TestPublished: schemas are published as they are.
func TestPublished(t *testing.T) {
	dir := folder(t)
	files, err := filepath.Glob("../reference/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "docs", "reference", filepath.Base(file)))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not on the site as it is: %v", file, err)
		}
	}
}
