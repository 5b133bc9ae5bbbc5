package render

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"strings"

	"vzones/cmd/vzones/finding"
	"vzones/cmd/vzones/fleetmap/model"
	"vzones/topology/quote"
)

//go:embed assets/picture.css
var pictureCSS string

// Measures of the picture, in pixels.
const (
	pictureWidth = 1200
	margin       = 24
	columns      = 3
	gutter       = 16
	cardWidth    = (pictureWidth - 2*margin - (columns-1)*gutter) / columns
	inset        = 12
	tilesInRow   = 3
	tileGap      = 8
	tileWidth    = (cardWidth - 2*inset - (tilesInRow-1)*tileGap) / tilesInRow
	pitch        = 16 // between two Nodes
	dotsInRow    = (tileWidth - 8) / pitch
	dotRows      = 4 // of Nodes in a host; more are a number
)

// SVG returns the map as a picture that needs nothing else, in light and dark.
func SVG(m *model.Map) []byte {
	p := &picture{cluster: m.Cluster}
	y := p.head(m)
	for i := range m.Regions {
		y = p.region(&m.Regions[i], y)
	}
	y = p.listed(m, y)
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="t d">`+"\n",
		pictureWidth, y, pictureWidth, y)
	fmt.Fprintf(&out, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n<style>\n%s</style>\n", escape("Fleet map: "+title(m)), forXML(describe(m)), pictureCSS)
	fmt.Fprintf(&out, `<rect class="back" width="%d" height="%d"/>`+"\n", pictureWidth, y)
	out.Write(p.out.Bytes())
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// describe says what the picture shows, for those who do not see it. Names in it are fit to be shown.
func describe(m *model.Map) string {
	var b strings.Builder
	for i := range m.Regions {
		r := &m.Regions[i]
		for j := range r.Zones {
			z := &r.Zones[j]
			fmt.Fprintf(&b, "%s, %s: %s. ", regionName(r), zoneName(z), hosts(&z.Counts, m.Cluster))
		}
	}
	for _, k := range m.Kinds {
		fmt.Fprintf(&b, "%s: %d. ", k.Title, k.Count)
	}
	return strings.TrimSpace(b.String())
}

// escape makes a text of others one for XML.
func escape(s string) string { return forXML(quote.Text(s)) }

// forXML makes a text that is fit to be shown one for XML.
func forXML(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// width is about how wide a character is, in hundredths of a pixel.
func width(r rune, size int) int {
	if r > 0x2e80 {
		return size * 105
	}
	return size * 58
}

// fit returns as much of a text as has room in so many pixels, by the usual widths of characters.
func fit(s string, room, size int) string {
	used := 0
	runes := []rune(s)
	for i, r := range runes {
		if used += width(r, size); used > (room-size)*100 && i < len(runes)-1 {
			return string(runes[:i]) + "…"
		}
	}
	return s
}

// wrap divides a text into at most so many lines, of which the last is cut if there is more.
func wrap(s string, room, size, most int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.SplitSeq(s, " ") {
		need := width(' ', size)
		for _, r := range word {
			need += width(r, size)
		}
		if line != "" && used+need > (room-size)*100 && len(lines) < most-1 {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line += " "
		}
		line += word
		used += need
	}
	return append(lines, line)
}

// A picture is drawn from top to bottom.
type picture struct {
	out     bytes.Buffer
	cluster bool
}

func (p *picture) text(x, y int, class, s string, room, size int) {
	fmt.Fprintf(&p.out, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, escape(fit(s, room, size)))
}

func (p *picture) rect(x, y, width, height, radius int, class string) {
	fmt.Fprintf(&p.out, `<rect x="%d" y="%d" width="%d" height="%d" rx="%d" class="%s"/>`+"\n", x, y, width, height, radius, class)
}

// head draws the title and the legend.
func (p *picture) head(m *model.Map) int {
	wide := pictureWidth - 2*margin
	p.text(margin, 40, "h1", "Fleet map", wide, 22)
	p.text(margin, 62, "soft", title(m), wide, 12)
	x, y := margin, 86
	for _, l := range []struct{ class, text string }{
		{"node", "Node"}, {"node master", "Node of the control plane"}, {"node drift", "Node with a problem"},
	} {
		if !m.Cluster {
			break
		}
		p.dot(x+6, y-4, l.class)
		p.text(x+18, y, "soft", l.text, 300, 12)
		x += 40 + 7*len(l.text)
	}
	p.rect(x, y-11, 14, 14, 3, "host marked")
	p.text(x+20, y, "soft", "host with a problem", 300, 12)
	return y + 20
}

// dot draws a Node: round, or square if it is of the control plane.
func (p *picture) dot(x, y int, class string) {
	if strings.Contains(class, "master") {
		p.rect(x-6, y-6, 12, 12, 2, class)
		return
	}
	fmt.Fprintf(&p.out, `<circle cx="%d" cy="%d" r="6" class="%s"/>`+"\n", x, y, class)
}

// region draws a region below y, and returns where it ends.
func (p *picture) region(r *model.Region, y int) int {
	name := fit(regionName(r), 500, 17)
	p.text(margin, y+24, "h2", name, 500, 17)
	end := margin + 20
	for _, r := range name {
		end += width(r, 18) / 100
	}
	p.text(end, y+24, "soft", count(r.Counts.Zones, "zone")+", "+hosts(&r.Counts, p.cluster), 600, 12)
	var ends [columns]int
	for i := range ends {
		ends[i] = y + 36
	}
	most := 1
	for i := range r.Zones {
		most = max(most, r.Zones[i].Counts.Nodes)
	}
	for i := range r.Zones {
		at := 0
		for j := range ends {
			if ends[j] < ends[at] {
				at = j
			}
		}
		ends[at] = p.zone(&r.Zones[i], margin+at*(cardWidth+gutter), ends[at], most) + gutter
	}
	return max(ends[0], ends[1], ends[2])
}

// zone draws a zone as a card, and returns where it ends.
func (p *picture) zone(z *model.Zone, x, y, most int) int {
	whole := p.out
	p.out = bytes.Buffer{}
	inner, room := x+inset, cardWidth-2*inset
	at := y + 24
	p.text(inner, at, "h3", zoneName(z), room, 14)
	at += 18
	p.text(inner, at, "soft", hosts(&z.Counts, p.cluster)+", "+quoted(z.VCenters), room, 12)
	if p.cluster {
		at += 10
		p.rect(inner, at, room, 6, 3, "track")
		if z.Counts.Nodes > 0 {
			p.rect(inner, at, max(6, room*z.Counts.Nodes/most), 6, 3, "bar")
		}
		at += 8
	}
	at = p.marks(z.Marks, inner, at, room)
	for i := range z.Clusters {
		at = p.tiles(&z.Clusters[i], inner, at+8, room)
	}
	at += inset
	card := p.out
	p.out = whole
	class := "zone"
	if z.Name == "" {
		class += " none"
	}
	p.rect(x, y, cardWidth, at-y, 8, class)
	p.out.Write(card.Bytes())
	return at
}

// marks writes marks below y, and returns where they end.
func (p *picture) marks(marks []model.Mark, x, y, room int) int {
	for _, m := range marks {
		for _, line := range wrap(sign(m.Severity)+quote.Text(m.Text), room, 12, 3) {
			y += 17
			p.text(x, y, markClass(m.Severity), line, room, 12)
		}
	}
	return y
}

func markClass(s finding.Severity) string {
	switch s {
	case finding.Error:
		return "bad"
	case finding.Warning:
		return "warn"
	}
	return "soft"
}

func sign(s finding.Severity) string {
	if s == finding.Info {
		return ""
	}
	return "! "
}

// tiles draws the hosts of a cluster, and returns where they end.
func (p *picture) tiles(c *model.Cluster, x, y, room int) int {
	y += 14
	p.text(x, y, "soft", clusterName(c), room, 12)
	y = p.marks(c.Marks, x, y, room) + 6
	for i := 0; i < len(c.Hosts); i += tilesInRow {
		row := c.Hosts[i:min(i+tilesInRow, len(c.Hosts))]
		height := 24
		for j := range row {
			if n := len(row[j].Nodes); n > 0 {
				height = max(height, 28+pitch*min(dotRows, (n+dotsInRow-1)/dotsInRow))
			}
		}
		for j := range row {
			p.tile(&row[j], x+j*(tileWidth+tileGap), y, height)
		}
		y += height + tileGap
	}
	return y - tileGap
}

// tile draws a host with its Nodes.
func (p *picture) tile(h *model.Host, x, y, height int) {
	class, name := "host", hostName(h)
	if anyProblem(h.Marks) {
		class, name = "host marked", "! "+name
	}
	fmt.Fprintf(&p.out, "<g><title>%s</title>\n", escape(about(hostName(h), h.Marks)))
	p.rect(x, y, tileWidth, height, 4, class)
	p.text(x+6, y+16, "", name, tileWidth-6, 12)
	for i := range h.Nodes {
		n := &h.Nodes[i]
		at := [2]int{x + 12 + pitch*(i%dotsInRow), y + 32 + pitch*(i/dotsInRow)}
		if i == dotsInRow*dotRows-1 && len(h.Nodes) > i+1 {
			p.text(at[0]-6, at[1]+4, "soft", "…", pitch*2, 12)
			break
		}
		class := "node"
		if n.ControlPlane {
			class += " master"
		}
		if anyProblem(n.Marks) {
			class += " drift"
		}
		fmt.Fprintf(&p.out, "<g><title>%s</title>", escape(about(n.Name, n.Marks)))
		p.dot(at[0], at[1], class)
		p.out.WriteString("</g>\n")
	}
	p.out.WriteString("</g>\n")
}

// about is a name with what is marked.
func about(name string, marks []model.Mark) string {
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = m.Text
	}
	if len(texts) == 0 {
		return name
	}
	return name + ": " + strings.Join(texts, "; ")
}

// mostListed is how many Nodes without a place the picture names.
const mostListed = 12

// listed writes what is nowhere on the map, and what is marked, and returns where that ends.
func (p *picture) listed(m *model.Map, y int) int {
	wide := pictureWidth - 2*margin
	head := func(text string) { y += 26; p.text(margin, y, "h3", text, wide, 14) }
	line := func(class, text string) { y += 18; p.text(margin, y, class, text, wide, 12) }
	for _, v := range m.VCenters {
		for _, mark := range v.Marks {
			line(markClass(mark.Severity), "! vCenter "+quote.Name(v.Name)+": "+mark.Text)
		}
	}
	if len(m.Unplaced) > 0 {
		head("Nodes without a place")
		for i := range m.Unplaced[:min(len(m.Unplaced), mostListed)] {
			n := &m.Unplaced[i]
			line("bad", "! "+about(quote.Name(n.Name), n.Marks))
		}
		if left := len(m.Unplaced) - mostListed; left > 0 {
			line("soft", "and "+count(left, "more Node"))
		}
	}
	if len(m.Kinds) > 0 {
		head("Marked")
		for i, k := range m.Kinds {
			if i%columns == 0 {
				y += 18
			}
			p.text(margin+(i%columns)*(cardWidth+gutter), y, markClass(k.Kind.Severity()), k.Title+": "+number(k.Count), cardWidth, 12)
		}
	}
	return y + margin
}
