package audit

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/topology/quote"
)

// mostShown is how many objects of a kind of finding the format table has.
const mostShown = 20

// A report is what an audit has found.
type report struct {
	findings findings
	lists    *lists
}

// A Document is what the formats json and yaml have.
type Document struct {
	// Findings are the worst first.
	Findings []Item `json:"findings"`
	// Audited are the kinds that were compared, Absent those that the cluster does not have, and
	// Denied those that the account may not list.
	Audited []Count  `json:"audited"`
	Absent  []string `json:"absent"`
	Denied  []Denied `json:"denied"`
	// Unread are the vCenters that could not be read and that no Node waits for.
	Unread []Unread `json:"unread"`
}

// An Item is a finding in a Document.
type Item struct {
	ID       string           `json:"id"`
	Severity finding.Severity `json:"severity"`
	Title    string           `json:"title"`
	Object   Ref              `json:"object"`
	// Node is the Node concerned and VCenter the one that has its machine, if that is one.
	Node    string `json:"node,omitempty"`
	VCenter string `json:"vcenter,omitempty"`
	Text    string `json:"text"`
	// Has is what the object says and VSphere what vSphere says, by label.
	Has     map[string]string `json:"has,omitempty"`
	VSphere map[string]string `json:"vSphere,omitempty"`
	// Since is since when the object is known to be stale; Written is when the copy was made, and
	// Writer by whom.
	Since   *time.Time `json:"since,omitempty"`
	Written *time.Time `json:"written,omitempty"`
	Writer  string     `json:"writer,omitempty"`
	Meaning string     `json:"meaning"`
	Fix     string     `json:"fix"`
	Command string     `json:"command,omitempty"`
	Page    string     `json:"page"`
}

func (s *Stale) item() Item {
	optional := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return Item{
		ID: s.Kind.ID, Severity: s.Kind.Severity, Title: s.Kind.Title, Object: s.Ref, Node: s.Node, VCenter: s.VCenter, Text: s.Text,
		Has: s.Has, VSphere: s.VSphere, Since: optional(s.Since), Written: optional(s.Written), Writer: s.Writer,
		Meaning: s.Kind.Meaning, Fix: s.WhatToDo(), Command: s.Command, Page: s.Kind.Page(),
	}
}

func (r *report) document() Document {
	d := Document{Findings: []Item{}, Audited: r.lists.audited, Absent: append([]string{}, r.lists.absent...), Denied: append([]Denied{}, r.lists.denied...), Unread: append([]Unread{}, r.findings.unread...)}
	for i := range r.findings.all {
		d.Findings = append(d.Findings, r.findings.all[i].item())
	}
	return d
}

// print prints a report in a format.
func (r *report) print(t *cli.Tool, format cli.Format) error {
	switch format {
	case cli.Table, cli.Wide:
		return t.Write(r.text(t, format == cli.Wide))
	}
	list := &cli.List{Data: r.document()}
	for i := range r.findings.all {
		list.Rows = append(list.Rows, cli.Row{Name: r.findings.all[i].Ref.name()})
	}
	return t.Print(format, list)
}

// text has a paragraph for each kind of finding, and what was compared.
func (r *report) text(t *cli.Tool, wide bool) []byte {
	var b bytes.Buffer
	all := r.findings.all
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Kind == all[0].Kind {
			n++
		}
		paragraph(&b, t, all[:n], wide)
		all = all[n:]
	}
	fmt.Fprintln(&b, r.summary())
	return b.Bytes()
}

func paragraph(b *bytes.Buffer, t *cli.Tool, all []Stale, wide bool) {
	kind := all[0].Kind
	color := map[finding.Severity]cli.Color{finding.Error: cli.Red, finding.Warning: cli.Yellow}[kind.Severity]
	fmt.Fprintf(b, "%s %s\n", t.Paint(color, fmt.Sprintf("%s %s:", strings.ToUpper(string(kind.Severity)), kind.ID)), kind.Title)
	fmt.Fprintf(b, "  %s\n", kind.Meaning)
	fmt.Fprintf(b, "  To do: %s\n", all[0].WhatToDo())
	shown := all
	if !wide && len(shown) > mostShown {
		shown = shown[:mostShown]
	}
	width := 0
	for i := range shown {
		width = max(width, utf8.RuneCountInString(shown[i].Object))
	}
	example := ""
	for i := range shown {
		s := &shown[i]
		fmt.Fprintf(b, "  %s%s   %s%s\n", s.Object, strings.Repeat(" ", width-utf8.RuneCountInString(s.Object)), s.Text, s.times())
		if wide && s.Command != "" {
			fmt.Fprintf(b, "    %s\n", t.Paint(cli.Faint, s.Command))
		}
		if example == "" {
			example = s.Command
		}
	}
	if more := len(all) - len(shown); more > 0 {
		fmt.Fprintf(b, "  and %s more, which -o wide has\n", grouped(more))
	}
	if !wide && example != "" {
		if len(shown) > 1 {
			example = "for example: " + example
		}
		fmt.Fprintf(b, "  %s\n", t.Paint(cli.Faint, example))
	}
	fmt.Fprintln(b)
}

// times says since when, or when the copy was written.
func (s *Stale) times() string {
	by := ""
	if s.Writer != "" {
		by = " by " + s.Writer
	}
	switch {
	case !s.Since.IsZero():
		return "; since " + s.Since.Format(time.RFC3339)
	case !s.Written.IsZero():
		return "; written " + s.Written.Format(time.RFC3339) + by
	}
	return ""
}

// summary says what was compared, and what was not.
func (r *report) summary() string {
	var counts []string
	for _, c := range r.lists.audited {
		counts = append(counts, fmt.Sprintf("%s %s", grouped(c.Count), plural(c.Kind, c.Count)))
	}
	found := fmt.Sprintf("%s findings", grouped(len(r.findings.all)))
	switch len(r.findings.all) {
	case 0:
		found = "no findings"
	case 1:
		found = "1 finding"
	}
	lines := []string{strings.Join(counts, ", ") + ": " + found}
	if len(r.lists.absent) > 0 {
		absent := make([]string, len(r.lists.absent))
		for i, kind := range r.lists.absent {
			absent[i] = plural(kind, 0)
		}
		lines = append(lines, "The cluster does not have: "+strings.Join(absent, ", "))
	}
	for _, d := range r.lists.denied {
		lines = append(lines, fmt.Sprintf("Not compared: %s: %s", plural(d.Kind, 0), d.Reason))
	}
	for _, u := range r.findings.unread {
		lines = append(lines, fmt.Sprintf("Not read: vCenter %s, for which no Node waits: %s", quote.Plain(u.VCenter), u.Reason))
	}
	return strings.Join(lines, "\n")
}

func plural(kind string, n int) string {
	switch {
	case n == 1:
		return kind
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	}
	return kind + "s"
}

// grouped writes a number with a comma before each third digit from the end.
func grouped(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return grouped(n/1000) + fmt.Sprintf(",%03d", n%1000)
}
