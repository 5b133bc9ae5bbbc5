package survey_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"vzones/cmd/vzones/internal/survey"
	"vzones/topology"
	"vzones/vcenter"
)

var update = flag.Bool("update", false, "write the table of the reference")

const (
	page  = "../../../../docs/reference/privileges.md"
	begin = "<!-- needs: written by TestNeedsAreDocumented -->\n"
	end   = "<!-- end of needs -->"
)

// TestNeedsAreDocumented: the reference has the needs of a configuration that uses everything.
func TestNeedsAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| for | privilege | on objects of these types | without it |\n|---|---|---|---|\n")
	for _, n := range survey.NeedsOf(vcenter.Requirements{Tags: true, HostGroups: true, FaultDomains: true}) {
		without := "vzones does with less: see the table above"
		if n.Placing {
			without = "Nodes on or below such an object are not placed"
		}
		fmt.Fprintf(&b, "| %s | `%s` | `%s` | %s |\n", n.For, n.Privilege, strings.Join(n.Types, "`, `"), without)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	was, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	switch {
	case was == b.String():
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has\n%s\nnot\n%s: run the test with -update", page, was, b.String())
	}
}

// TestNeedsNameEachTypeOnce: no object is reported twice for one privilege.
func TestNeedsNameEachTypeOnce(t *testing.T) {
	for _, u := range []vcenter.Requirements{
		{}, {Tags: true}, {HostGroups: true}, {FaultDomains: true}, {Tags: true, HostGroups: true, FaultDomains: true},
		{Tags: true, Paths: []topology.PathKind{topology.FolderPath}},
	} {
		seen := map[string]bool{}
		for _, n := range survey.NeedsOf(u) {
			for _, kind := range n.Types {
				key := n.Privilege + " on " + kind
				if seen[key] {
					t.Errorf("%+v: %s twice", u, key)
				}
				seen[key] = true
			}
		}
		if !seen["System.Read on VirtualMachine"] || seen["System.Read on Datacenter"] != u.Tags {
			t.Errorf("%+v: %v", u, seen)
		}
		if walked := u.Tags && len(u.Paths) == 0; seen["System.Read on ResourcePool"] != walked {
			t.Errorf("%+v: %v", u, seen)
		}
	}
}
