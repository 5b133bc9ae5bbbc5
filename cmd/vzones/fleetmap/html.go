package fleetmap

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"vzones/cmd/vzones/cli"
	"vzones/internal/quote"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
)

// maxOpenItems limits the hosts and Nodes of a fleet whose clusters are open by default. Closed clusters
// show one cell for each.
const maxOpenItems = 200

// page returns an HTML page without scripts or external resources. Its content security policy allows
// only its own style.
func (f *fleet) page() ([]byte, error) {
	sum := sha256.Sum256([]byte(pageCSS))
	t, err := template.New("page").Funcs(template.FuncMap{
		"on": f.occupancy, "occupancy": f.occupancyOf, "plural": cli.Count, "number": cli.Number, "join": strings.Join, "some": quote.Some, "worst": cssClass,
		"open":   func() bool { return f.Counts.Hosts+f.Counts.Nodes <= maxOpenItems },
		"list":   func(i *item) string { return i.List(maxListed) },
		"isOpen": func(n *note) bool { return n.Kind < off && len(n.Items) <= 2*maxListed },
	}).Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("parsing the page template: %w", err)
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Fleet": f, "Summary": f.summary(), "Unmanaged": f.foreign(), "Read": f.Read.UTC().Format(time.RFC3339), "ReadText": f.Read.UTC().Format("2 January 2006, 15:04 UTC"),
		"CSS":    template.CSS(pageCSS),
		"Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
	})
	if err != nil {
		return nil, fmt.Errorf("rendering the page: %w", err)
	}
	return out.Bytes(), nil
}

func cssClass(marks []mark) string {
	if len(marks) == 0 {
		return "fine"
	}
	return worst(marks).Class()
}
