package check

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/internal/quote"
	"vzones/vcenter/inventory"
)

// Report is the result of vzones check. The JSON and YAML formats print it as it is.
type Report struct {
	Configuration string `json:"configuration"`
	Daemon        Daemon `json:"daemon"`
	// VCenters are in the order of the configuration.
	VCenters []VCenter `json:"vcenters"`
	// Nodes is the number of checked Nodes, or null with the reason in WithoutNodes.
	Nodes        *int   `json:"nodes"`
	WithoutNodes string `json:"nodesSkippedReason,omitempty"`
	// elsewhere is the number of Nodes whose vCenter is unknown.
	elsewhere int
	// Findings are sorted by severity, then from cause to consequence.
	Findings    []Cause          `json:"findings"`
	NotCompared []string         `json:"notCompared"`
	Summary     map[Severity]int `json:"summary"`
}

// VCenter is the summary of one vCenter.
type VCenter struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Read reports whether the vCenter was read. If not, a finding gives the reason.
	Read bool `json:"read"`
	// Version and APIVersion are the vCenter's own strings, or "" if unknown.
	Version    string `json:"version,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	// Nodes is the number of Nodes whose VM is in this vCenter; if the vCenter was not read, the number of
	// Nodes whose annotation names it. Wrong is the number of these with an error, Waiting of uninitialized
	// Nodes, and Unknown of Nodes whose state is unknown because the vCenter was not read.
	Nodes   int `json:"nodes"`
	Wrong   int `json:"withErrors"`
	Waiting int `json:"uninitialized"`
	Unknown int `json:"unknown"`
}

func (f *facts) report(w *world.World) *Report {
	found := f.findings()
	r := &Report{Configuration: w.Source, Daemon: f.daemon.summary(), VCenters: []VCenter{}, NotCompared: notCompared, Summary: map[Severity]int{}}
	total := len(f.nodes)
	switch {
	case w.NoNodes == nil:
		r.Nodes = &total
	case w.Client != nil:
		found = append(found, Finding{ID: "VZ125", Object: "Nodes", Text: "they were not checked: " + quote.Text(w.NoNodes.Error()), Short: notListed})
		r.WithoutNodes = "see VZ125"
	default:
		r.WithoutNodes = quote.Text(w.NoNodes.Error())
	}
	r.Findings = Causes(found)
	for _, s := range Severities() {
		r.Summary[s] = 0
	}
	wrong := map[string]bool{}
	for _, c := range r.Findings {
		r.Summary[c.Severity]++
		for _, name := range c.Nodes {
			wrong[name] = wrong[name] || c.Severity == Error
		}
	}
	r.elsewhere = len(f.nodes)
	for _, v := range f.vcenters {
		summary := v.summary(f.nodes, wrong)
		r.VCenters = append(r.VCenters, summary)
		r.elsewhere -= summary.Nodes
	}
	return r
}

func (v *vcenterFacts) summary(nodes nodeList, nodesWithErrors map[string]bool) VCenter {
	out := VCenter{
		Name: v.state.VCenter, Address: v.preflight.Host,
		Read: v.state.Err == nil, APIVersion: v.preflight.APIVersion,
	}
	if s := v.surveyed(); s != nil {
		out.Version = s.About.Version
		out.APIVersion = s.About.APIVersion
	}
	for _, n := range nodes {
		if n.VCenter() != out.Name {
			continue
		}
		out.Nodes++
		switch {
		case slices.Contains(inventory.UnreachableIn(n.Err), out.Name):
			out.Unknown++
		case nodesWithErrors[n.name()]:
			out.Wrong++
		case n.Uninitialized:
			out.Waiting++
		}
	}
	return out
}

func (r *Report) print(t *cli.Tool, format cli.Format) error {
	if format != cli.Table && format != cli.Wide {
		l := &cli.List{Data: r}
		for _, c := range r.Findings {
			for _, object := range c.Objects {
				l.Rows = append(l.Rows, cli.Row{Name: c.ID + " " + object})
			}
		}
		return t.Print(format, l)
	}
	p := &printer{t: t, isWide: format == cli.Wide, width: cli.LineWidth}
	if w := t.Width(); w > 40 {
		p.width = min(w, cli.LineWidth)
	}
	fmt.Fprintf(&p.out, "configuration: %s, %s\n", quote.Text(r.Configuration), cli.Count(len(r.VCenters), "vCenter"))
	p.t.Wrap(&p.out, p.width, "", "  ", "", "daemon: "+r.Daemon.line())
	// While the daemon does not work, no other finding has the cause.
	isDown := func(c Cause) bool { return c.stopsDaemon() }
	p.blocks(slices.DeleteFunc(slices.Clone(r.Findings), func(c Cause) bool { return !isDown(c) }))
	if slices.ContainsFunc(r.Findings, isDown) {
		p.out.WriteByte('\n')
	}
	if err := t.Write(p.out.Bytes()); err != nil {
		return err
	}
	p.out.Reset()
	l := &cli.List{Columns: []string{"VCENTER", "READ", "VERSION", "NODES"}}
	for _, v := range r.VCenters {
		l.Rows = append(l.Rows, r.row(v))
	}
	if r.elsewhere > 0 {
		l.Rows = append(l.Rows, cli.Row{Cells: []string{"-", "-", "-", fmt.Sprintf("%d, vCenter unknown", r.elsewhere)}})
	}
	if err := t.Print(format, l); err != nil {
		return err
	}
	p.blocks(slices.DeleteFunc(slices.Clone(r.Findings), isDown))
	p.end(r)
	return t.Write(p.out.Bytes())
}

func (r *Report) row(v VCenter) cli.Row {
	read := "yes"
	nodes := "-"
	if !v.Read {
		read = "no"
	}
	if r.Nodes != nil {
		nodes = fmt.Sprint(v.Nodes)
		switch {
		case v.Unknown > 0:
			nodes += ", not checked; they stay as they are"
		case v.Wrong > 0:
			nodes += fmt.Sprintf(", %d with errors", v.Wrong)
		case v.Waiting > 0:
			nodes += fmt.Sprintf(", %d not initialized", v.Waiting)
		case v.Nodes > 0:
			nodes += ", no errors"
		}
	}
	return cli.Row{Cells: []string{quote.Text(v.Name), read, cmp.Or(quote.Text(v.Version), "-"), nodes}}
}

const maxCauses = 20

type printer struct {
	t      *cli.Tool
	isWide bool
	width  int
	out    bytes.Buffer
}

// blocks writes the causes, of which adjacent ones of one kind with the same remedy are a block.
func (p *printer) blocks(rest []Cause) {
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].ID == rest[0].ID && rest[n].Fix == rest[0].Fix && rest[n].HasAdvice == rest[0].HasAdvice {
			n++
		}
		p.block(rest[:n])
		rest = rest[n:]
	}
}

// block writes the causes of one kind with the same remedy.
func (p *printer) block(causes []Cause) {
	first := &causes[0]
	color := map[Severity]cli.Color{Error: cli.Red, Warning: cli.Yellow}[first.Severity]
	var nodes, commands []string
	for i := range causes {
		nodes = append(nodes, causes[i].Nodes...)
		commands = append(commands, causes[i].Commands...)
	}
	slices.Sort(nodes)
	commands = slices.Compact(commands)
	title := first.Title
	if n := len(slices.Compact(nodes)); n > 0 {
		title += " (" + cli.Count(n, "Node") + ")"
	}
	fmt.Fprintf(&p.out, "\n%s %s\n", p.t.Paint(color, strings.ToUpper(string(first.Severity))+" "+first.ID), title)
	shown := causes
	maxNames := quote.Most
	if p.isWide {
		maxNames = len(causes[0].Objects) + len(nodes) + len(commands)
	} else {
		shown = causes[:min(len(causes), maxCauses)]
	}
	prefix := "" // The vCenters that have the same text.
	for i := range shown {
		c := &shown[i]
		object := objects(c, max(maxNames, 1))
		if isOne := i+1 < len(shown) && shown[i+1].Text == c.Text; isOne && object == the(c.VCenter) {
			prefix += object + ", "
			continue
		}
		p.t.Wrap(&p.out, p.width, "  ", "      ", "", prefix+object+"   "+c.Text)
		prefix = ""
	}
	if omitted := len(causes) - len(shown); omitted > 0 {
		fmt.Fprintf(&p.out, "  and %d more (-o wide)\n", omitted)
	}
	if !first.HasAdvice {
		p.t.Wrap(&p.out, p.width, "  To do: ", "      ", "", first.Fix)
	}
	switch {
	case p.isWide:
		for _, c := range commands {
			fmt.Fprintf(&p.out, "    %s\n", p.t.Paint(cli.Faint, c))
		}
	case len(commands) == 1:
		fmt.Fprintf(&p.out, "    %s\n", p.t.Paint(cli.Faint, commands[0]))
	case len(commands) > 1:
		fmt.Fprintf(&p.out, "    for example: %s\n", p.t.Paint(cli.Faint, commands[0]))
	}
}

// objects lists the first objects of a cause, and their number if it omits some.
func objects(c *Cause, maxNames int) string {
	names := c.Objects
	kind := ""
	if len(names) > 1 && len(names) == len(c.Nodes) && names[0] == "Node "+c.Nodes[0] {
		names = c.Nodes
		kind = "Nodes "
	}
	text := kind + quote.Some(names, maxNames)
	if n := len(names); n > maxNames {
		text = fmt.Sprintf("%d %s", n, text)
	}
	if c.VCenter != "" && text != the(c.VCenter) {
		text = quote.Plain(c.VCenter) + ": " + text
	}
	return text
}

func (p *printer) end(r *Report) {
	p.out.WriteByte('\n')
	text := "No problems found."
	if len(r.Findings) > 0 {
		text = fmt.Sprintf("%s, %s, %d info.", cli.Count(r.Summary[Error], "error"), cli.Count(r.Summary[Warning], "warning"), r.Summary[Info])
	}
	if r.Nodes == nil {
		text += " Nodes: not checked, " + r.WithoutNodes + "."
	} else {
		text += " Not compared with zones: " + strings.Join(r.NotCompared, ", ") + "."
	}
	if len(r.Findings) > 0 {
		text += " For a finding: vzones explain " + r.Findings[0].ID + "."
		if r.Nodes != nil {
			text += " For a Node: vzones explain NODE."
		}
	}
	p.t.Wrap(&p.out, p.width, "", "", "", text)
}
