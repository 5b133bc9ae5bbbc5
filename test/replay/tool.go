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

// judgeTool runs check, nodes, map and explain, and returns what differs. Findings about an operator's own tags
// cannot be predicted here, so they are not compared but returned.
func (r *replay) judgeTool(ctx context.Context, config string, running, vms []*vm, ownTags bool) (problems, findings []string, err error) {
	run := func(args ...string) (out []byte, status int) {
		cmd := exec.CommandContext(ctx, r.tool, append(args, "-c", config)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+r.stack.Cluster.AdminKubeconfig())
		out, failed := cmd.Output()
		var exit *exec.ExitError
		if errors.As(failed, &exit) && exit.ExitCode() > 1 {
			failed = fmt.Errorf("%w: %s", failed, exit.Stderr)
		} else if exit != nil {
			status = exit.ExitCode()
			failed = nil
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("vzones %s: %w", strings.Join(args, " "), failed))
		}
		return out, status
	}
	decode := func(content []byte, into any) {
		if err == nil {
			err = json.Unmarshal(content, into)
		}
	}

	var checked struct {
		Findings []struct {
			ID, Severity, VCenter, Text string
			Objects, Nodes              []string
		}
	}
	out, _ := run("check", "-o", "json")
	decode(out, &checked)
	var listed struct{ Nodes []listedNode }
	out, _ = run("nodes", "-o", "json")
	decode(out, &listed)
	drawn, _ := run("map", "--all")
	if err != nil {
		return nil, nil, err
	}

	found := map[string][]string{}
	for _, f := range checked.Findings {
		for _, node := range f.Nodes {
			found[node] = append(found[node], f.ID)
		}
		findings = append(findings, fmt.Sprintf("%s %s, %d objects such as %s: %s", f.ID, f.Severity, len(f.Objects), append(f.Objects, f.VCenter)[0], f.Text))
		if len(f.Nodes) == 0 && !ownTags {
			// Each datacenter and cluster has its tag.
			problems = append(problems, "vzones check: false finding "+findings[len(findings)-1])
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
		if !ownTags {
			differs("its findings in vzones check", strings.Join(found[m.node()], ", "), strings.Join(m.findings(), ", "))
		}
		listed := byName[m.node()]
		if m.isMisplaced {
			listed.Region = ""
			listed.Zone = ""
		}
		differs("its line in vzones nodes", listed, m.listed())
		differs("its presence in vzones map", isDrawn[m.node()], true)
	}
	for _, m := range examples(running, vms) {
		var explained struct {
			VM         struct{ ID, Path string }
			Identified struct{ Children []struct{ Text string } }
		}
		out, status := run("explain", m.node(), "-o", "json")
		decode(out, &explained)
		if err != nil {
			return nil, nil, err
		}
		if (status == 0) != (m.reason == "") || explained.VM.ID != m.id || explained.VM.Path != m.path {
			problems = append(problems, fmt.Sprintf("vzones explain %s: exit status %d and VM %+v, but it is VM %s, %s, with reason %q",
				m.node(), status, explained.VM, m.id, m.path, m.reason))
		}
		for _, other := range vms {
			if other.uuid == m.uuid && !strings.Contains(fmt.Sprint(explained.Identified), other.path+" ") {
				problems = append(problems, fmt.Sprintf("vzones explain %s: no word about VM %s, which has its UUID", m.node(), other.path))
			}
		}
	}
	return problems, findings, err
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
