package render

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"vzones/cmd/vzones/fleetmap/model"
	"vzones/topology/quote"
)

var (
	//go:embed assets/page.html
	pageHTML string
	//go:embed assets/page.css
	pageCSS string
	//go:embed assets/page.js
	pageJS string
)

// fewOnPage is up to how many hosts and Nodes the page shows all clusters open.
const fewOnPage = 200

// HTML returns the map as a page that needs nothing else and loads nothing: its policy allows its own
// style and script alone. Without a script it is a list to open and close.
func HTML(m *model.Map) ([]byte, error) {
	page, err := template.New("page").Funcs(functions()).Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the page: %w", err)
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{
		"Map":  m,
		"Open": m.Counts.Hosts+m.Counts.Nodes <= fewOnPage,
		"CSS":  template.CSS(pageCSS),
		"JS":   template.JS(pageJS),
		"Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " + hash(pageCSS) +
			"; script-src " + hash(pageJS),
	})
	if err != nil {
		return nil, fmt.Errorf("making the page: %w", err)
	}
	return out.Bytes(), nil
}

// hash names a text for the page's policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// functions are those of the template, which escapes what they return.
func functions() template.FuncMap {
	return template.FuncMap{
		"title": title, "name": quote.Name, "text": quote.Text, "number": number, "quoted": quoted, "anyProblem": anyProblem,
		"hosts":       func(c model.Counts, cluster bool) string { return hosts(&c, cluster) },
		"problems":    func(c model.Counts) string { return problems(&c) },
		"severity":    func(k model.Kind) string { return string(k.Severity()) },
		"regionName":  func(r model.Region) string { return capital(regionName(&r)) },
		"zoneName":    func(z model.Zone) string { return capital(zoneName(&z)) },
		"clusterName": func(c model.Cluster) string { return capital(clusterName(&c)) },
		"hostName":    func(h model.Host) string { return hostName(&h) },
		"foreign": func(m *model.Map) string {
			if m.Counts.Foreign == 0 {
				return ""
			}
			return foreign(m)
		},
		"share": func(c model.Counts, r model.Region) int {
			most := 1
			for i := range r.Zones {
				most = max(most, r.Zones[i].Counts.Nodes)
			}
			return 100 * c.Nodes / most
		},
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
