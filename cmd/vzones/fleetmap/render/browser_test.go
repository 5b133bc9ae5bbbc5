package render_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vzones/cmd/vzones/fleetmap/fleetmaptest"
	"vzones/cmd/vzones/fleetmap/model"
	"vzones/cmd/vzones/fleetmap/render"
	"vzones/test/browser"
)

// A page is one in the browser that make map-browser names.
type page struct {
	*testing.T
	*browser.Browser
	ctx context.Context
}

func open(t *testing.T) *page {
	t.Helper()
	program := os.Getenv("VZONES_CHROMIUM")
	if program == "" {
		t.Skip("VZONES_CHROMIUM does not name a browser: make map-browser does")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	b, err := browser.Start(ctx, program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return &page{t, b, ctx}
}

func (p *page) call(method string, params map[string]any) {
	p.Helper()
	if err := p.Call(p.ctx, method, params, nil); err != nil {
		p.Fatal(err)
	}
}

// eval evaluates an expression, into result if that is not nil.
func (p *page) eval(expression string, result any) {
	p.Helper()
	if err := p.Eval(p.ctx, expression, result); err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
}

// load shows a file, and waits until the script has run where there is one.
func (p *page) load(name string, content []byte, script bool) {
	p.Helper()
	file := filepath.Join(p.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		p.Fatal(err)
	}
	p.call("Page.navigate", map[string]any{"url": "file://" + filepath.ToSlash(file)})
	p.await("document.readyState === 'complete' && location.protocol === 'file:'")
	if script {
		p.await("document.body.dataset.ready === 'true'")
	}
}

// await waits until an expression is true.
func (p *page) await(expression string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 30*time.Second)
	defer cancel()
	if err := p.Await(ctx, expression); err != nil {
		p.Fatal(err)
	}
}

// look sets the width of the window and the color scheme.
func (p *page) look(width int, scheme string) {
	p.resize(width, 900)
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
}

func (p *page) resize(width, height int) {
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false})
}

// unfold makes the window as high as the page, so that all of it is drawn.
func (p *page) unfold(width int) {
	p.resize(width, 50_000)
	var height int
	p.eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(Math.ceil(document.body.getBoundingClientRect().height)))))", &height)
	p.resize(width, height+50)
	p.eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(0))))", nil)
}

// shoot keeps a picture of the page, if a folder for that is named.
func (p *page) shoot(name string) {
	dir := os.Getenv("VZONES_SHOTS")
	if dir == "" {
		return
	}
	data, err := p.Screenshot(p.ctx)
	if err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600); err != nil {
		p.Fatal(err)
	}
}

// isQuiet fails for what went wrong in the page, and for each request but that for the page itself.
func (p *page) isQuiet() {
	p.Helper()
	requests := 0
	for _, e := range p.Events() {
		switch e.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
			p.Errorf("%s %s", e.Method, e.Params)
		case "Network.requestWillBeSent":
			var r struct{ Request struct{ URL string } }
			if err := json.Unmarshal(e.Params, &r); err != nil {
				p.Fatal(err)
			}
			if requests++; !strings.HasPrefix(r.Request.URL, "data:") && !strings.HasPrefix(r.Request.URL, "file:") {
				p.Errorf("it loads %s", r.Request.URL)
			}
		}
	}
	if requests == 0 {
		p.Error("no request was seen, not even that for the page")
	}
}

// accessible fails for what axe-core finds.
func (p *page) accessible(name string) {
	p.Helper()
	file := os.Getenv("VZONES_AXE")
	if file == "" {
		p.Fatal("VZONES_AXE does not name axe-core: make map-browser does")
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		p.Fatal(err)
	}
	p.eval("window.axe ? 0 : (() => {"+string(axe)+"})() ?? 0", nil)
	var found struct {
		Passes     int
		Violations []string
		Incomplete []string
	}
	p.eval(`axe.run(document).then((r) => {
		const texts = (all) => all.flatMap((v) => v.nodes.slice(0, 5).map((n) => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary));
		return {passes: r.passes.length, violations: texts(r.violations), incomplete: texts(r.incomplete)};
	})`, &found)
	if found.Passes < 15 {
		p.Errorf("%s: axe-core has made %d checks only", name, found.Passes)
	}
	for _, v := range append(found.Violations, found.Incomplete...) {
		p.Errorf("%s: %s", name, v)
	}
}

// TestPageInBrowser: at two widths, in light and dark, axe-core finds nothing, nothing is wider than the
// window, no script fails and nothing is loaded.
func TestPageInBrowser(t *testing.T) {
	p := open(t)
	without := fleetmaptest.Example()
	without.Nodes, without.Cluster = nil, false
	for name, facts := range map[string]*model.Facts{"example": fleetmaptest.Example(), "hosts": without, "hostile": fleetmaptest.Hostile(), "large": fleetmaptest.Large(3, 150)} {
		content := html(t, model.Build(facts))
		for _, width := range []int{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				p.look(width, scheme)
				p.Events()
				p.load(name+".html", content, true)
				what := fmt.Sprintf("%s-%d-%s", name, width, scheme)
				var wide int
				if p.eval("document.documentElement.scrollWidth", &wide); wide > width {
					t.Errorf("%s is %d pixels wide", what, wide)
				}
				p.unfold(width)
				p.shoot(what)
				p.isQuiet()
				p.accessible(what)
			}
		}
	}
}

// TestPictureInBrowser: no text of the picture is wider than what it is in.
func TestPictureInBrowser(t *testing.T) {
	p := open(t)
	for name, facts := range map[string]*model.Facts{"example": fleetmaptest.Example(), "hostile": fleetmaptest.Hostile(), "large": fleetmaptest.Large(3, 150)} {
		content := render.SVG(model.Build(facts))
		for _, scheme := range []string{"light", "dark"} {
			p.look(1200, scheme)
			p.load(name+".svg", content, false)
			var wide []string
			p.eval(`[...document.querySelectorAll("text")].filter((t) => {
				const g = t.closest("g"), box = t.getBBox();
				const end = g ? g.querySelector("rect").getBBox().x + g.querySelector("rect").getBBox().width : 1200;
				return box.x + box.width > end + 1 || box.height < 10;
			}).map((t) => t.textContent)`, &wide)
			if len(wide) > 0 {
				t.Errorf("%s: too wide: %q", name, wide)
			}
			p.shoot("picture-" + name + "-" + scheme)
		}
	}
}

// TestWithoutScriptInBrowser: the page has everything without its script.
func TestWithoutScriptInBrowser(t *testing.T) {
	p := open(t)
	p.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	p.resize(1280, 6000)
	p.load("page.html", html(t, model.Build(fleetmaptest.Example())), false)
	p.await("document.body.innerText.includes('worker-01')")
	var text string
	p.eval("document.body.innerText", &text)
	for _, want := range []string{"worker-01", "worker-16", "esx-p3-02", "label zone is", "Nodes without a place", "Zone paris-2"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if strings.Contains(text, "Only problems") {
		t.Error("it shows the filter, which does nothing")
	}
}

func (p *page) press(key string, code int, text string) {
	p.Helper()
	if err := p.Key(p.ctx, key, code, text); err != nil {
		p.Fatal(err)
	}
}

// TestKeyboardInBrowser: each control is reached with the tabulator, shows that it has the focus, and
// works.
func TestKeyboardInBrowser(t *testing.T) {
	p := open(t)
	p.look(1280, "light")
	p.load("page.html", html(t, model.Build(fleetmaptest.Example())), true)
	var order []string
	for range 40 {
		p.press("Tab", 9, "")
		var at struct{ Name, Outline string }
		p.eval(`(() => { const e = document.activeElement; return {name: e.id || e.nodeName, outline: getComputedStyle(e).outlineStyle}; })()`, &at)
		if at.Name == "BODY" {
			break
		}
		if at.Outline == "none" {
			t.Errorf("%s does not show that it has the focus", at.Name)
		}
		order = append(order, at.Name)
	}
	if want := "A query region zone vcenter problems BUTTON open SUMMARY"; !strings.HasPrefix(strings.Join(order, " "), want) {
		t.Errorf("the tabulator goes to %q", order)
	}
	var open, then bool
	p.eval("document.querySelector('summary').focus() ?? document.querySelector('details').open", &open)
	p.press("Enter", 13, "\r")
	if p.eval("document.querySelector('details').open", &then); open == then {
		t.Error("Enter does nothing to a cluster")
	}
	p.eval("document.getElementById('query').focus() ?? 0", nil)
	p.call("Input.insertText", map[string]any{"text": "worker-13 differ"})
	p.await("document.getElementById('found').textContent === '0 of 19 Nodes'")
	p.eval("document.getElementById('query').value = '' ?? 0", nil)
	p.call("Input.insertText", map[string]any{"text": "milan-2 WORKER-13"})
	p.await("document.getElementById('found').textContent === '1 of 19 Nodes'")
	var shown []string
	p.eval(`[...document.querySelectorAll(".node")].filter((n) => n.checkVisibility()).map((n) => n.textContent.split(" ")[0])`, &shown)
	if len(shown) != 1 || shown[0] != "worker-13" {
		t.Errorf("it shows %q", shown)
	}
	var nowhere bool
	if p.eval("document.querySelector('.unplaced').checkVisibility()", &nowhere); nowhere {
		t.Error("it shows a list of Nodes without a place that has none left")
	}
	p.unfold(1280)
	p.accessible("filtered")
	p.resize(1280, 900)
	p.eval("document.querySelector('button[type=reset]').click() ?? 0", nil)
	p.await("document.getElementById('found').textContent === ''")
	p.eval("document.getElementById('problems').focus() ?? 0", nil)
	p.press(" ", 32, " ")
	p.await("document.getElementById('found').textContent.includes(' of 19 Nodes')")
	if p.eval(`[...document.querySelectorAll(".node")].filter((n) => n.checkVisibility()).map((n) => n.textContent.split(" ")[0])`, &shown); len(shown) == 0 || len(shown) == 19 {
		t.Errorf("only problems are %q", shown)
	}
}

// longest is the most that a task may take while somebody types, on a machine that does other things.
const longest = 200 * time.Millisecond

// TestLargeInBrowser: with 5,000 Nodes the page answers each key at once.
func TestLargeInBrowser(t *testing.T) {
	p := open(t)
	p.look(1280, "light")
	start := time.Now()
	p.load("page.html", html(t, model.Build(fleetmaptest.Large(10, 5000))), true)
	t.Logf("the page is ready after %v", time.Since(start).Round(time.Millisecond))
	p.eval(`(() => {
		window.tasks = [];
		window.keys = [];
		new PerformanceObserver((l) => l.getEntries().forEach((e) => tasks.push(e.duration))).observe({type: "longtask"});
		new PerformanceObserver((l) => l.getEntries().forEach((e) => keys.push(e.duration))).observe({type: "event", durationThreshold: 16});
		document.getElementById("query").focus();
		return 0;
	})()`, nil)
	type times struct{ Task, Key float64 }
	read := func() (got times) {
		p.eval("new Promise((r) => setTimeout(() => { r({task: Math.max(0, ...tasks), key: Math.max(0, ...keys)}); tasks.length = keys.length = 0; }, 300))", &got)
		return got
	}
	p.eval("new Promise((r) => setTimeout(() => { const end = performance.now() + 100; while (performance.now() < end); r(0); }))", nil)
	if got := read(); got.Task < 100 {
		t.Fatalf("a task of 100 ms was measured as %.0f ms", got.Task)
	}
	measure := func(what string) {
		got := read()
		t.Logf("%s: the longest task took %.0f ms (those below 50 are not counted), the slowest key %.0f ms", what, got.Task, got.Key)
		if got.Task > float64(longest.Milliseconds()) {
			t.Errorf("%s: a task took %.0f ms", what, got.Task)
		}
	}
	for _, r := range "node-vc-05-012" {
		p.press(string(r), int(r), string(r))
	}
	p.await("document.getElementById('found').textContent === '10 of 5,000 Nodes'")
	measure("typing")
	p.shoot("found")
	for range "node-vc-05-012" {
		p.press("Backspace", 8, "")
	}
	p.await("document.getElementById('found').textContent === ''")
	measure("deleting")
	p.eval("document.getElementById('problems').click() ?? 0", nil)
	p.await("document.getElementById('found').textContent.includes(' of 5,000 Nodes')")
	measure("only problems")
	p.eval("document.querySelector('button[type=reset]').click() ?? 0", nil)
	p.await("document.getElementById('found').textContent === ''")
	p.eval("document.getElementById('open').click() ?? 0", nil)
	p.await("[...document.querySelectorAll('details')].every((d) => d.open)")
	measure("opening all")
	for _, r := range "c07" {
		p.press(string(r), int(r), string(r))
	}
	p.await("document.getElementById('found').textContent.includes(' of 5,000 Nodes')")
	measure("typing with all open")
}

// TestPrintInBrowser: all that is closed on the screen is on paper.
func TestPrintInBrowser(t *testing.T) {
	p := open(t)
	p.load("page.html", html(t, model.Build(fleetmaptest.Large(2, 600))), true)
	var pdf struct{ Data string }
	if err := p.Call(p.ctx, "Page.printToPDF", map[string]any{"printBackground": false}, &pdf); err != nil {
		t.Fatal(err)
	}
	p.eval("dispatchEvent(new Event('beforeprint'))", nil)
	p.call("Emulation.setEmulatedMedia", map[string]any{"media": "print"})
	var shown int
	if p.eval(`[...document.querySelectorAll(".node")].filter((n) => n.checkVisibility()).length`, &shown); shown != 600 || len(pdf.Data) < 50_000 {
		t.Errorf("%d of 600 Nodes are printed, in %d bytes", shown, len(pdf.Data))
	}
	var filter bool
	if p.eval("document.querySelector('search').checkVisibility()", &filter); filter {
		t.Error("the filter is printed")
	}
	p.eval("dispatchEvent(new Event('afterprint'))", nil)
	p.await("![...document.querySelectorAll('details')].some((d) => d.open)")
}
