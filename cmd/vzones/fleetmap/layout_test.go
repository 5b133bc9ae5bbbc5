package fleetmap

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// measuring compares the rectangles of all visible boxes in the frames, with closed and then with open
// clusters, and writes the differences into an element.
const measuring = `
const boxes = '.region, .zone, .cluster, .host, .node, .marks > li, .cells > span, .cells i, .notes, .notes > details, .legend';
const name = e => e.tagName + '.' + e.className + ' ' + JSON.stringify((e.title || e.textContent).trim().slice(0, 40));
const text = r => [r.left, r.top, r.right, r.bottom].map(Math.round).join(' ');
function measure(frame, state) {
  const root = frame.contentDocument.documentElement, problems = [], below = new Map();
  const add = p => { if (problems.length < 5) problems.push(p); };
  if (root.scrollWidth > root.clientWidth) add('the page is ' + root.scrollWidth + ' pixels wide');
  for (const e of root.querySelectorAll('.host')) e.style.contentVisibility = 'visible';
  for (const e of root.querySelectorAll(boxes)) {
    if (!e.checkVisibility()) continue;
    const r = e.getBoundingClientRect(), parent = e.parentElement.closest(boxes) || root, p = parent.getBoundingClientRect();
    if (r.left < p.left - 1 || r.top < p.top - 1 || r.right > p.right + 1 || r.bottom > p.bottom + 1)
      add(name(e) + ' (' + text(r) + ') leaves ' + name(parent) + ' (' + text(p) + ')');
    const siblings = below.get(parent) || [];
    for (const s of siblings)
      if (r.left < s.r.right - 1 && s.r.left < r.right - 1 && r.top < s.r.bottom - 1 && s.r.top < r.bottom - 1)
        add(name(e) + ' (' + text(r) + ') covers ' + name(s.e) + ' (' + text(s.r) + ')');
    siblings.push({e, r});
    below.set(parent, siblings);
  }
  return {Page: frame.name + state, Problems: problems};
}
addEventListener('load', () => {
  const results = [];
  for (const frame of document.querySelectorAll('iframe')) {
    results.push(measure(frame, ', as it opens'));
    for (const d of frame.contentDocument.querySelectorAll('details')) d.open = true;
    results.push(measure(frame, ', all open'));
  }
  document.getElementById('results').textContent = JSON.stringify(results);
});`

// TestLayout: in a browser no box leaves the box around it or covers another, at any width.
func TestLayout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	chromium := findChromium(ctx)
	if chromium == "" {
		t.Skip("no Chromium is found: set VZONES_CHROMIUM")
	}
	var harness strings.Builder
	harness.WriteString("<!doctype html><meta charset=\"utf-8\"><pre id=\"results\"></pre><script>" + measuring + "</script>\n")
	for name, f := range fleets() {
		page := html.EscapeString(string(pageOf(t, f)))
		for _, width := range []int{1600, 900, 400} {
			fmt.Fprintf(&harness, "<iframe name=\"%s, %d pixels wide\" style=\"width: %[2]dpx; height: 60000px; border: 0\" srcdoc=\"%s\"></iframe>\n", name, width, page)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "harness.html")
	if err := os.WriteFile(file, []byte(harness.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatalf("%s: %v", chromium, err)
	}
	_, results, _ := strings.Cut(string(out), `<pre id="results">`)
	results, _, _ = strings.Cut(results, "</pre>")
	var pages []struct {
		Page     string
		Problems []string
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(results)), &pages); err != nil || len(pages) == 0 {
		t.Fatalf("%d pages were measured: %v: %.300s", len(pages), err, results)
	}
	for _, p := range pages {
		if len(p.Problems) > 0 {
			t.Errorf("%s:\n\t%s", p.Page, strings.Join(p.Problems, "\n\t"))
		}
	}
}

func findChromium(ctx context.Context) string {
	for _, name := range slices.DeleteFunc([]string{os.Getenv("VZONES_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"}, func(n string) bool { return n == "" }) {
		path, err := exec.LookPath(name)
		if err == nil && exec.CommandContext(ctx, path, "--version").Run() == nil { // Ubuntu's chromium-browser may only advise to install it.
			return path
		}
	}
	return ""
}
