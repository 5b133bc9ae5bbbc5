package docs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"vzones/config/load"
	"vzones/test/fixture"
)

// TestDefaultsAreDocumented compares the table with what a small file gives.
func TestDefaultsAreDocumented(t *testing.T) {
	c, err := load.Parse("f", []byte("vcenter: {vc.example.com: {user: user, password: password}}"))
	if err != nil {
		t.Fatal(err)
	}
	vc := c.VCenters[0]
	if len(vc.Datacenters) > 0 || vc.CAFile != "" || vc.Thumbprint != "" || len(c.Topology.Policy.Labels()) > 0 {
		t.Errorf("a default that the reference does not have: %+v", vc)
	}
	kinds := strings.ReplaceAll(fmt.Sprintf("%q", c.Topology.Policy.Paths), "resource pool", "resourcePool")
	inTopology := map[string]string{
		"precedence": string(c.Topology.Policy.Precedence),
		"paths":      strings.ReplaceAll(strings.ReplaceAll(kinds, `" "`, ", "), `"`, ""),
		"backfill":   fmt.Sprint(c.Topology.Backfill),
		"drift":      string(c.Topology.Drift),
		"settle":     fmt.Sprintf("%gs", c.Topology.Settle.Seconds()),
	}
	for _, row := range rows(t, read(t, "reference/configuration.md"), "## Keys of `topology`") {
		if got := strings.Trim(row[2], "`"); got != inTopology[row[0]] {
			t.Errorf("the default of %s is documented as %q, and is %q", row[0], got, inTopology[row[0]])
		}
	}
	want := map[string]string{
		"port":               fmt.Sprint(vc.Port),
		"insecureFlag":       fmt.Sprint(vc.Insecure),
		"soapRoundtripCount": fmt.Sprint(vc.RoundTrips),
		"ipFamily":           fmt.Sprint(vc.IPFamilies),
		"datacenters":        "all",
	}
	for _, row := range rows(t, read(t, "reference/configuration.md"), "## Keys of `global` and of an entry") {
		if got := strings.Trim(row[2], "`"); got != want[row[0]] {
			t.Errorf("the default of %s is documented as %q, and is %q", row[0], got, want[row[0]])
		}
	}
}

// TestVariablesAreDocumented: the reference has every environment variable that is
// read, and no other.
func TestVariablesAreDocumented(t *testing.T) {
	docs := make(map[string]bool)
	for _, row := range rows(t, read(t, "reference/configuration.md"), "## Environment variables") {
		docs[row[0]] = true
	}
	documented, read := slices.Sorted(maps.Keys(docs)), slices.Sorted(slices.Values(load.Variables()))
	if !slices.Equal(documented, read) {
		t.Errorf("documented: %v\nread: %v", documented, read)
	}
	for name := range docs {
		const text = "[VirtualCenter \"10.0.0.1\"]\nuser = u\npassword = p\n"
		c, err := load.Parse("f", []byte(text), name+"=https://x\x01y")
		told := fmt.Sprint(err)
		if err == nil {
			told = fmt.Sprint(c.Warnings)
		}
		// Any text can be a password.
		if !strings.Contains(told, "environment variable "+name+": ") && name != "VSPHERE_PASSWORD" {
			t.Errorf("%s: nothing is said of a value that is wrong: %v", name, err)
		}
	}
}

// TestExamplesAreRead: YAML and INI in the reference are configuration files without
// errors and warnings, or the next block of text is what is said of it.
func TestExamplesAreRead(t *testing.T) {
	all := fixture.Blocks(read(t, "reference/configuration.md"))
	good := 0
	for i, b := range all {
		if b.Kind != "yaml" && b.Kind != "ini" {
			continue
		}
		c, err := load.Parse("vsphere.conf", []byte(b.Text))
		if i+1 < len(all) && all[i+1].Kind == "text" {
			if got := fmt.Sprint(err) + "\n"; got != all[i+1].Text {
				t.Errorf("got:\n%s\nthe reference says:\n%s", got, all[i+1].Text)
			}
			continue
		}
		good++
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("reading this example: error %v, warnings %v, want neither:\n%s", err, c.Warnings, b.Text)
		}
	}
	if good == 0 {
		t.Error("the reference has no examples")
	}
}
