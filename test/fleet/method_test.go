package fleet

import (
	"strings"
	"testing"
)

// TestMethod: arguments are converted to the parameters' types, and invalid ones fail before the
// call.
func TestMethod(t *testing.T) {
	spec, err := Parse([]byte("vcenters: [{name: east, datacenters: [{name: dc, hosts: [a, b], vms: [{name: node}]}]}]"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	v := f.VCenter("east")
	for _, words := range [][]string{
		{"SetDelay", "5ms"},
		{"Fault", "Login", "NoPermission"},
		{"FaultREST", "*", "503"},
		{"SetIPs", "node", "10.0.0.1", "10.0.0.2"},
		{"SetIPs", "node"},
		{"Resize", "node", "8", "16384"},
		{"SetReadable", "node", "false"},
		{"Create", "dc", "{name: more, host: b}"},
		{"ForgetObject", "node", "forbidden"},
		{"Recover"},
	} {
		do, err := Method(words[0], words[1:])
		if err == nil {
			err = do(v)
		}
		if err != nil {
			t.Errorf("calling the method %q: %v", words, err)
		}
	}
	if m, err := v.VM("more"); err != nil || m.Host != "b" {
		t.Errorf("VM(more) = %+v, %v, want a VM on host b", m, err)
	}
	for want, words := range map[string][]string{
		`no method "Explode"`:     {"Explode"},
		"takes 2 arguments":       {"MoveVM", "node"},
		"takes 0 arguments":       {"Hang", "now"},
		"vSphere has no such":     {"Fault", "Login", "VirtualMachine"},
		`"5": time: missing unit`: {"SetDelay", "5"},
		"cannot unmarshal":        {"FaultREST", "*", "many"},
	} {
		if _, err := Method(words[0], words[1:]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, not %q", words, err, want)
		}
	}
	do, err := Method("PowerOff", []string{"gone"})
	if err != nil || do(v) == nil {
		t.Errorf("an error of the method is lost: %v", err)
	}
}
