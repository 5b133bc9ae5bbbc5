package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

func TestGuestChangesAreSeen(t *testing.T) {
	watched = append(watched, "config.extraConfig", extraConfigPath(metadataKey))
	t.Cleanup(func() { watched = watched[:len(watched)-2] })
	f := follow(t)
	v := f.v
	value := func(u types.ObjectUpdate, property string) any {
		for _, c := range slices.Backward(u.ChangeSet) {
			if c.Name == property {
				return c.Val
			}
		}
		t.Errorf("no %s in %+v", property, u)
		return nil
	}
	u := f.pushed("metadata", func() error { return v.SetExtraConfig("node-0000", metadataKey, "x") }, f.node.MoID)
	if o, ok := value(u, extraConfigPath(metadataKey)).(types.OptionValue); !ok || o.Value != "x" {
		t.Errorf("one entry: %+v", u)
	}
	if all, ok := value(u, "config.extraConfig").(types.ArrayOfOptionValue); !ok || len(all.OptionValue) != 1 {
		t.Errorf("all entries: %+v", u)
	}
	f.sees("losing access", func() error { return v.SetConnection("node-0000", "inaccessible") }, extraConfigPath(metadataKey), nil)
	if err := v.SetExtraConfig("node-0000", metadataKey, "y"); err != nil {
		t.Fatal(err)
	}
	u = f.pushed("regaining it", func() error { return v.SetConnection("node-0000", "connected") }, f.node.MoID)
	if o, ok := value(u, extraConfigPath(metadataKey)).(types.OptionValue); !ok || o.Value != "y" {
		t.Errorf("what was set meanwhile: %+v", u)
	}
	f.sees("no metadata", func() error { return v.SetExtraConfig("node-0000", metadataKey, "") }, extraConfigPath(metadataKey), nil)
	f.sees("no power state", func() error { return v.HidePower("node-0000") }, "runtime.powerState", "")
	f.sees("power off", func() error { return v.PowerOff("node-0000") }, "runtime.powerState", types.VirtualMachinePowerStatePoweredOff)
}

func TestReverseNICs(t *testing.T) {
	f := start(t, `
vcenters:
- name: v
  datacenters: [{name: d, hosts: [h], vms: [{name: node, nics: [{ips: [10.0.0.1]}, {ips: [10.0.0.2]}, {ips: [10.0.0.3]}]}]}]
`)
	v := f.VCenter("v")
	c := login(t, v)
	w := watch(t, deadline(t, 10*time.Second), c, v)
	if err := v.ReverseNICs("node"); err != nil {
		t.Fatal(err)
	}
	m, err := v.Machine("node")
	if err != nil || !slices.Equal(m.IPs, []string{"10.0.0.3", "10.0.0.2", "10.0.0.1"}) {
		t.Errorf("%v, %v", m.IPs, err)
	}
	if got, err := w.next(deadline(t, 10*time.Second)); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestMetadata(t *testing.T) {
	const text = "network: {version: 2}\n"
	f := start(t, `
vcenters:
- name: v
  datacenters:
  - name: d
    hosts: [h]
    vms:
    - {name: usual, metadata: "network: {version: 2}\n"}
    - {name: packed, metadata: "network: {version: 2}\n", metadataEncoding: gzip+base64}
    - {name: plain, metadata: "network: {version: 2}\n", metadataEncoding: plain}
    - {name: none}
`)
	v := f.VCenter("v")
	extra := func(name string) map[string]any {
		m, err := v.inv.machine(name)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]any{}
		for _, o := range m.vm.Config.ExtraConfig {
			all[o.GetOptionValue().Key] = o.GetOptionValue().Value
		}
		return all
	}
	if err := v.SetMetadata("none", text, "gzip+base64"); err != nil {
		t.Fatal(err)
	}
	for name, encoding := range map[string]any{"usual": "base64", "packed": "gzip+base64", "plain": nil, "none": "gzip+base64"} {
		all := extra(name)
		data, _ := all[metadataKey].(string)
		if all[encodingKey] != encoding {
			t.Errorf("%s: %v", name, all)
		}
		if got := unpacked(t, data, encoding); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := v.SetMetadata("none", "", ""); err != nil || len(extra("none")) != 0 {
		t.Errorf("%v, %v", extra("none"), err)
	}
	if err := v.SetMetadata("none", text, "rot13"); err == nil {
		t.Error("an unknown encoding was accepted")
	}
}

func unpacked(t *testing.T, data string, encoding any) string {
	t.Helper()
	if encoding == nil {
		return data
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err == nil && encoding == "gzip+base64" {
		var r *gzip.Reader
		if r, err = gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, err = io.ReadAll(r)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
