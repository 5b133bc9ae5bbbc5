package load

import (
	"slices"
	"strings"
	"testing"

	"vzones/config/configtest"
)

// TestWarningsOutliveLines: a line more on top changes where a warning is and not what it
// says, or a reload would log it again.
func TestWarningsOutliveLines(t *testing.T) {
	texts := map[string]string{
		"environment": "global: {insecureFlag: true, port: 444, user: u, password: p}\n",
		"server":      "global: {server: 10.0.0.1, user: u, password: p}\nvcenter:\n  10.0.0.1:\n",
		"trust":       "global: {thumbprint: '" + "AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD" + "', insecureFlag: true, user: u, password: p}\nvcenter:\n  10.0.0.1:\n",
	}
	for _, folder := range []string{"good", "ini-good"} {
		for _, c := range configtest.Cases(t, folder) {
			texts[c.File] = string(c.Data)
		}
	}
	said := func(text string) (all []string) {
		config, err := Parse("f", []byte(text), "VSPHERE_VCENTER=10.0.0.9", "VSPHERE_INSECURE=false", "VSPHERE_PORT=443", "VSPHERE_USER=env")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return nil
		}
		for _, w := range config.Warnings {
			all = append(all, w.Field+": "+w.Message)
		}
		return all
	}
	for name, text := range texts {
		const mark = "\ufeff"
		if len(text) > len(mark) && text[:len(mark)] == mark {
			text = text[len(mark):]
		}
		if before, after := said(text), said("# a line more\n"+text); !slices.Equal(before, after) {
			t.Errorf("%s: got\n%q\nand with a line more\n%q", name, before, after)
		}
	}
}

// TestWarningsHaveTheirVCenter: none where two entries are shown alike.
func TestWarningsHaveTheirVCenter(t *testing.T) {
	long := strings.Repeat("a.", 100)
	config, err := Parse("f", []byte("global: {user: u, password: p}\nvcenter:\n"+
		"  \""+long+"1\": {server: 192.0.2.1, insecureFlag: true}\n  \""+long+"2\": {server: 192.0.2.2, insecureFlag: true}\n"+
		"  a: {server: 192.0.2.3}\n  a-b: {server: 192.0.2.4, insecureFlag: true}\n  a.b: {server: 192.0.2.5, insecureFlag: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, w := range config.Warnings {
		names = append(names, w.VCenter)
	}
	if !slices.Equal(names, []string{"", "", "a-b", "a.b"}) {
		t.Errorf("%q of %v", names, config.Warnings)
	}
}
