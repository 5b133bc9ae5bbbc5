package site_test

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vzones/test/browser"
)

// check.html loads each page of the site at each width, and tells what it has found.
//
//go:embed testdata/check.html
var checkPage []byte

// show shows a page in the browser that make docs-browser names.
func show(ctx context.Context, t *testing.T, address string) *browser.Browser {
	t.Helper()
	program := os.Getenv("VZONES_CHROMIUM")
	if program == "" {
		t.Skip("VZONES_CHROMIUM does not name a browser: make docs-browser does")
	}
	b, err := browser.Start(ctx, program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if err := b.Call(ctx, "Page.navigate", map[string]any{"url": address}, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSearchInBrowser opens pages from a folder, as somebody without a server does, and
// looks at what the search shows first.
func TestSearchInBrowser(t *testing.T) {
	dir, err := filepath.Abs(folder(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ page, query, want string }{
		{"index.html", "AddressConflict", "docs/how-to/find-out-why-a-node-waits.html#addressconflict"},
		{"docs/reference/flags.html", "undeleted_nodes", "docs/reference/metrics.html#the-metrics"},
		{"docs/contents.html", "soapRoundtripCount", "docs/reference/configuration.html#"},
		{"docs/how-to/install.html", "no-such-word-anywhere", ""},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		b := show(ctx, t, "file://"+filepath.ToSlash(dir)+"/"+c.page+"?q="+c.query)
		if err := b.Await(ctx, `document.getElementById("results")?.hidden === false`); err != nil {
			t.Fatal(err)
		}
		var dom string
		if err := b.Eval(ctx, "document.documentElement.outerHTML", &dom); err != nil {
			t.Fatal(err)
		}
		_, results, ok := strings.Cut(dom, `id="results"`)
		if !ok {
			t.Fatalf("%s: no results in %d bytes", c.query, len(dom))
		}
		results, _, _ = strings.Cut(results, "</header>")
		var links []string
		for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(results, -1) {
			links = append(links, html.UnescapeString(m[1]))
		}
		switch {
		case c.want == "" && (len(links) > 0 || !strings.Contains(results, "Nothing has all of these words")):
			t.Errorf("%s: found %q", c.query, links)
		case c.want != "" && (len(links) == 0 || !strings.Contains(links[0], c.want)):
			t.Errorf("%s: found %q, and not %s first", c.query, links[:min(5, len(links))], c.want)
		}
		if c.want != "" && !strings.Contains(results, "<mark>") {
			t.Errorf("%s: nothing is marked", c.query)
		}
	}
}

// A look is what check.html tells of a page at a width.
type look struct {
	Page   string
	Width  int
	Wide   int    // how wide the page is
	Errors string // of scripts
	Found  int    // results of the search, on the pages where it was used
}

// TestPagesInBrowser: no page is wider than the window, on a phone or not, no script fails,
// and nothing is loaded that is not of the site.
func TestPagesInBrowser(t *testing.T) {
	pages := slices.Sorted(maps.Keys(site(t)))
	list, err := json.Marshal(pages)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []look, 1)
	var mu sync.Mutex
	var wrong []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		wrong = append(wrong, what)
	}
	files := http.FileServer(http.Dir(folder(t)))
	mux := http.NewServeMux()
	mux.HandleFunc("/check.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(strings.Replace(string(checkPage), "PAGES", string(list), 1)))
	})
	mux.HandleFunc("/result", func(_ http.ResponseWriter, r *http.Request) {
		var looks []look
		if err := json.NewDecoder(r.Body).Decode(&looks); err != nil {
			note(err.Error())
		}
		done <- looks
	})
	mux.HandleFunc("/violation", func(_ http.ResponseWriter, r *http.Request) {
		note("something is loaded from elsewhere: " + r.Referer())
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(folder(t), filepath.FromSlash(r.URL.Path))); err != nil && r.URL.Path != "/index.html" {
			note("no such file: " + r.URL.Path)
		}
		if r.URL.Path == "/index.html" { // which a file server would redirect
			r.URL.Path = "/"
		}
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; report-uri /violation")
		files.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	show(ctx, t, server.URL+"/check.html")
	var looks []look
	select {
	case looks = <-done:
	case <-ctx.Done():
		t.Fatal("the browser has not looked at all pages in time")
	}
	searched := 0
	for _, l := range looks {
		if l.Wide > l.Width {
			t.Errorf("%s is %d pixels wide in a window of %d", l.Page, l.Wide, l.Width)
		}
		if l.Errors != "" {
			t.Errorf("%s at %d: %s", l.Page, l.Width, l.Errors)
		}
		searched += l.Found
	}
	if len(looks) != 2*len(pages) || searched == 0 {
		t.Errorf("%d looks at %d pages, %d results of the search", len(looks), len(pages), searched)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(wrong) > 0 {
		t.Error(cmp.Or(strings.Join(wrong, "\n"), "?"))
	}
}
