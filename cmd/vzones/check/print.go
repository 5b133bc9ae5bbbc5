package check

import (
	"fmt"
	"strings"
	"time"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/finding"
	"vzones/topology/quote"
	"vzones/vcenter/credentials"

	"github.com/vmware/govmomi/vim25/soap"
)

// A result is what was found.
type result struct {
	// source says where the configuration is from.
	source string
	*facts
	// cluster reports whether there was one.
	cluster bool
	found   []finding.Finding
}

// A Report is what the formats json and yaml have.
type Report struct {
	// Configuration says where the configuration is from.
	Configuration string `json:"configuration"`
	// VCenters are in configured order.
	VCenters []VCenter `json:"vcenters"`
	// Nodes is how many Nodes were checked; null without a cluster.
	Nodes *int `json:"nodes"`
	// Findings are by vCenter, those about none first, the worst first.
	Findings []Finding `json:"findings"`
	// Summary counts the findings by severity.
	Summary map[finding.Severity]int `json:"summary"`
}

// VCenter is what was seen of a vCenter.
type VCenter struct {
	Name string `json:"name"`
	// Address is the host and port, Proxy those of the proxy, if there is one.
	Address string `json:"address"`
	Proxy   string `json:"proxy,omitempty"`
	// Addresses are those that the host name has, none if it is an address.
	Addresses []string `json:"addresses,omitempty"`
	// Read reports whether the vCenter was read. If not, a finding says why.
	Read bool `json:"read"`
	// Version and APIVersion are as the vCenter writes them, empty if they are not known.
	Version    string `json:"version,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	// Certificate is what it has shown, trusted or not; null if it came to none.
	Certificate *Certificate `json:"certificate"`
}

// Certificate is a server's.
type Certificate struct {
	SHA256  string `json:"sha256"`
	Subject string `json:"subject"`
	Issuer  string `json:"issuer"`
	// Names are the host names and addresses that it is for.
	Names    []string  `json:"names"`
	NotAfter time.Time `json:"notAfter"`
}

// Finding is one finding.
type Finding struct {
	ID       string           `json:"id"`
	Severity finding.Severity `json:"severity"`
	// VCenter is empty if it is about several or none.
	VCenter string `json:"vcenter,omitempty"`
	Object  string `json:"object"`
	Title   string `json:"title"`
	Text    string `json:"text"`
	Fix     string `json:"fix"`
	// Command does it, where one govc or kubectl command can. What is in capitals is to be replaced.
	Command   string `json:"command,omitempty"`
	Reference string `json:"reference"`
}

// print prints the findings in a format.
func (r *result) print(t *cli.Tool, o *options) error {
	l := &cli.List{
		Columns:  []string{"VCENTER", "SEVERITY", "ID", "OBJECT", "FINDING", "WHAT TO DO", "COMMAND", "REFERENCE"},
		WideFrom: 5, Data: r.report(),
	}
	lines := each(r.found)
	if o.format == cli.Table {
		lines = joined(r.found)
	}
	for _, line := range lines {
		l.Rows = append(l.Rows, line.row())
	}
	human := o.format == cli.Table || o.format == cli.Wide
	if !human || len(l.Rows) > 0 {
		if err := t.Print(o.format, l); err != nil || !human {
			return err
		}
	}
	return t.Write([]byte(r.summary()))
}

// An entry is a line about one finding, or about several equal ones.
type entry struct {
	finding.Finding
	objects []string
}

func each(found []finding.Finding) []entry {
	lines := make([]entry, len(found))
	for i, f := range found {
		lines[i] = entry{f, []string{f.Object}}
	}
	return lines
}

// joined makes one line of findings that differ in their object alone.
func joined(found []finding.Finding) (lines []entry) {
	type key struct {
		kind          *finding.Kind
		vcenter, text string
	}
	at := map[key]int{}
	for _, f := range found {
		text := f.Short
		if text == "" {
			text = f.Text
		}
		k := key{f.Kind, f.VCenter, text}
		i, again := at[k]
		if !again {
			at[k] = len(lines)
			lines = append(lines, entry{f, []string{f.Object}})
			continue
		}
		lines[i].Text = text
		lines[i].objects = append(lines[i].objects, f.Object)
	}
	return lines
}

func (p *entry) row() cli.Row {
	vcenter := p.VCenter
	if vcenter == "" {
		vcenter = "-"
	}
	object := quote.Some(p.objects, quote.Most)
	if n := len(p.objects); n > 1 {
		object = fmt.Sprintf("%d: %s", n, object)
	}
	k := p.Kind
	color := map[finding.Severity]cli.Color{finding.Error: cli.Red, finding.Warning: cli.Yellow}[k.Severity]
	return cli.Row{
		Name: k.ID + " " + p.Object, Color: color,
		Cells: []string{quote.Text(vcenter), string(k.Severity), k.ID, object, p.Text, p.WhatToDo(), p.Command, k.Page()},
	}
}

// counts counts the findings by severity.
func (r *result) counts() map[finding.Severity]int {
	counts := map[finding.Severity]int{}
	for _, s := range finding.Severities() {
		counts[s] = 0
	}
	for _, f := range r.found {
		counts[f.Kind.Severity]++
	}
	return counts
}

// summary is the last line: what was found and what was checked.
func (r *result) summary() string {
	var b strings.Builder
	if len(r.found) == 0 {
		b.WriteString("Nothing found")
	} else {
		n := r.counts()
		fmt.Fprintf(&b, "\n%s, %s, %d info", count(n[finding.Error], "error"), count(n[finding.Warning], "warning"), n[finding.Info])
	}
	fmt.Fprintf(&b, " in %s", count(len(r.states), "vCenter"))
	if r.cluster {
		fmt.Fprintf(&b, " and %s.", count(len(r.nodes), "Node"))
	} else {
		b.WriteString("; Nodes were not checked, since there is no cluster: write --kubeconfig.")
	}
	if len(r.found) > 0 {
		b.WriteString(" What to do: -o wide, or docs/reference/findings.md.")
	}
	return b.String() + "\n"
}

// report returns what the formats json and yaml have.
func (r *result) report() *Report {
	out := &Report{Configuration: r.source, VCenters: []VCenter{}, Findings: []Finding{}, Summary: r.counts()}
	if r.cluster {
		n := len(r.nodes)
		out.Nodes = &n
	}
	for i := range r.states {
		out.VCenters = append(out.VCenters, r.vcenter(i))
	}
	for _, f := range r.found {
		out.Findings = append(out.Findings, Finding{
			ID: f.Kind.ID, Severity: f.Kind.Severity, VCenter: f.VCenter, Object: f.Object, Title: f.Kind.Title,
			Text: f.Text, Fix: f.WhatToDo(), Command: f.Command, Reference: f.Kind.Page(),
		})
	}
	return out
}

func (r *result) vcenter(i int) VCenter {
	state, report := &r.states[i], &r.reports[i]
	v := VCenter{
		Name: state.VCenter, Address: report.Host, Proxy: report.Proxy, Addresses: report.Addresses,
		Read: state.Err == nil && state.Snapshot != nil, APIVersion: report.APIVersion,
	}
	if s := r.survey(state.VCenter); s != nil {
		v.Version, v.APIVersion = s.About.Version, s.About.APIVersion
	}
	if c := report.Certificate; c != nil {
		v.Certificate = &Certificate{SHA256: soap.ThumbprintSHA256(c), Subject: credentials.DistinguishedName(c.Subject), Issuer: credentials.DistinguishedName(c.Issuer), Names: []string{}, NotAfter: c.NotAfter.UTC()}
		v.Certificate.Names = append(v.Certificate.Names, c.DNSNames...)
		for _, ip := range c.IPAddresses {
			v.Certificate.Names = append(v.Certificate.Names, ip.String())
		}
	}
	return v
}
