package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// runTool runs a command of vzones and returns its output and exit status, 0 or 1.
func (r *replay) runTool(ctx context.Context, config string, args ...string) ([]byte, int, error) {
	cmd := exec.CommandContext(ctx, r.tool, append(args, "-c", config)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.stack.Cluster.AdminKubeconfig())
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return out, 0, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return out, 1, nil
	case exit != nil:
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return nil, 0, fmt.Errorf("vzones %s: %w", strings.Join(args, " "), err)
}

// askTool decodes the JSON output of a command of vzones and returns its exit status.
func (r *replay) askTool(ctx context.Context, config string, answer any, args ...string) (int, error) {
	out, status, err := r.runTool(ctx, config, append(args, "-o", "json")...)
	if err != nil {
		return 0, err
	}
	return status, json.Unmarshal(out, answer)
}

// judgeTool runs check, nodes, map and explain, and returns what differs, and a line for each kind of finding.
// With an operator's own tags or unreadable VMs, findings cannot be predicted here and are not compared.
func (r *replay) judgeTool(ctx context.Context, config string, running, vms []*vm, isPredictable bool) (problems, findings []string, err error) {
	var checked struct{ Findings []finding }
	var listed struct{ Nodes []listedNode }
	if _, err := r.askTool(ctx, config, &checked, "check"); err != nil {
		return nil, nil, err
	}
	if _, err := r.askTool(ctx, config, &listed, "nodes"); err != nil {
		return nil, nil, err
	}
	drawn, _, err := r.runTool(ctx, config, "map", "--all")
	if err != nil {
		return nil, nil, err
	}
	found := map[string][]string{}
	for _, f := range checked.Findings {
		for _, node := range f.Nodes {
			found[node] = append(found[node], f.ID)
		}
		if len(f.Nodes) == 0 && isPredictable {
			// Each datacenter and cluster has its tag.
			problems = append(problems, fmt.Sprintf("vzones check: false finding %s about %s: %s", f.ID, strings.Join(f.Objects, ", "), f.Text))
		}
	}
	byName := map[string]listedNode{}
	for _, n := range listed.Nodes {
		byName[n.Name] = n
	}
	isDrawn := map[string]bool{}
	for _, word := range strings.FieldsFunc(string(drawn), func(c rune) bool { return strings.ContainsRune(" ,\n", c) }) {
		isDrawn[word] = true
	}
	for _, m := range running {
		differs := func(what string, got, want any) {
			if got != want {
				problems = append(problems, fmt.Sprintf("Node %s, VM %q: %s is %v, should be %v", m.node(), m.name, what, got, want))
			}
		}
		if isPredictable {
			differs("its findings in vzones check", strings.Join(found[m.node()], ", "), strings.Join(m.findings(), ", "))
		}
		n := byName[m.node()]
		if m.isMisplaced {
			n.Region = ""
			n.Zone = ""
		}
		differs("its line in vzones nodes", n, m.listed())
		differs("its presence in vzones map", isDrawn[m.node()], true)
	}
	for _, m := range examples(running, vms) {
		more, err := r.judgeExplain(ctx, config, m, vms)
		if err != nil {
			return nil, nil, err
		}
		problems = append(problems, more...)
	}
	return problems, summarize(checked.Findings), nil
}

// judgeExplain runs explain for a Node. It must name each VM with the Node's UUID.
func (r *replay) judgeExplain(ctx context.Context, config string, m *vm, vms []*vm) (problems []string, err error) {
	var explained struct {
		VM         struct{ ID, Path string }
		Identified struct{ Children []struct{ Text string } }
	}
	status, err := r.askTool(ctx, config, &explained, "explain", m.node())
	if err != nil {
		return nil, err
	}
	want := m.listed()
	if (status == 0) != (m.reason == "") || explained.VM.ID != want.VM || explained.VM.Path != want.Path {
		problems = append(problems, fmt.Sprintf("vzones explain %s: exit status %d and VM %+v, but it is VM %q, %q, with reason %q",
			m.node(), status, explained.VM, want.VM, want.Path, m.reason))
	}
	for _, other := range vms {
		if other.uuid == m.uuid && !strings.Contains(fmt.Sprint(explained.Identified), other.path+" ") {
			problems = append(problems, fmt.Sprintf("vzones explain %s: VM %s, which has its UUID, is missing", m.node(), other.path))
		}
	}
	return problems, nil
}

type finding struct {
	ID, Severity, Text string
	Objects, Nodes     []string
}

// summarize returns a line for each ID.
func summarize(findings []finding) (lines []string) {
	objects := map[string]int{}
	for _, f := range findings {
		objects[f.ID] += len(f.Objects)
	}
	for _, f := range findings {
		if n := objects[f.ID]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s %s, %d objects, first %s: %s", f.ID, f.Severity, n, f.Objects[0], f.Text))
			objects[f.ID] = 0
		}
	}
	return lines
}

// A listedNode is a Node in the output of vzones nodes.
type listedNode struct {
	Name, Status, VCenter, VM, Path, Host, Region, Zone string
}

func (m *vm) listed() listedNode {
	status := m.reason
	if status == "" {
		status = "Placed"
	}
	if m.isUncertain {
		return listedNode{Name: m.node(), Status: status}
	}
	return listedNode{Name: m.node(), Status: status, VCenter: m.vcenter, VM: m.id, Path: m.path, Host: m.host, Region: m.region, Zone: m.zone}
}

// findings returns the IDs of the findings that should name the Node.
func (m *vm) findings() (ids []string) {
	switch m.reason {
	case "Ambiguous":
		ids = append(ids, "VZ153")
	case "AddressConflict":
		ids = append(ids, "VZ159")
	case "AddressMissing":
		if m.hasTools {
			ids = append(ids, "VZ158")
		}
	}
	if !m.hasTools {
		ids = append(ids, "VZ166")
	}
	return ids
}

// examples returns a VM for each reason and each form of UUID, and every running VM that shares its UUID.
func examples(running, vms []*vm) (chosen []*vm) {
	uuids := map[string]int{}
	for _, m := range vms {
		uuids[m.uuid]++
	}
	kinds := map[string]bool{}
	for i, m := range running {
		kind := fmt.Sprint(m.reason, m.hasTools, m.inVApp, i%3 == 2)
		if !kinds[kind] || uuids[m.uuid] > 1 {
			chosen = append(chosen, m)
		}
		kinds[kind] = true
	}
	return chosen
}
