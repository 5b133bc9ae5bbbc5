package model

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"vzones/vcenter/inventory"
)

// Any update is accepted, and snapshots remain within their bounds.
func FuzzUpdates(f *testing.F) {
	const object = `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-1</obj><changeSet><name>%</name><op>assign</op>` +
		`<val xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema" #</val></changeSet></objectSet>`
	update := func(name, value string) string {
		return "<filterSet>" + strings.NewReplacer("%", name, "#", value).Replace(object) + "</filterSet>"
	}
	f.Add(update("config.uuid", `xsi:type="xsd:string">422e4956-ad22-1139-6d72-59cc8f26bc90`))
	f.Add(update("parent", `xsi:type="ManagedObjectReference" type="VirtualMachine">vm-1`))
	f.Add(update("runtime.powerState", `xsi:type="VirtualMachinePowerState">poweredOn`))
	f.Add(update("guest.net", `xsi:type="ArrayOfGuestNicInfo"><GuestNicInfo><network>n</network><ipAddress>10.0.0.1</ipAddress><connected>true</connected>`+
		`<deviceConfigId>4000</deviceConfigId><ipConfig><ipAddress><ipAddress>10.0.0.1</ipAddress><prefixLength>24</prefixLength></ipAddress></ipConfig></GuestNicInfo>`))
	f.Add(update("guest.hostName", `xsi:type="xsd:string">localhost`))
	f.Add(update("config.ftInfo", `xsi:type="FaultToleranceSecondaryConfigInfo"><role>2</role>`))
	f.Fuzz(func(t *testing.T, text string) {
		var set types.UpdateSet
		d := xml.NewDecoder(strings.NewReader("<returnval>" + text + "</returnval>"))
		d.TypeFunc = types.TypeFunc()
		if d.Decode(&set) != nil {
			return
		}
		m := New("east", types.ServiceContent{}, nil)
		var vms []string
		for _, filter := range set.FilterSet {
			for i := range filter.ObjectSet {
				u := &filter.ObjectSet[i]
				m.ApplyIndex("index", u)
				m.Tree.Apply(u)
				vms = append(vms, u.Obj.Value)
			}
		}
		snap := m.Snapshot(View{VMs: vms})
		for _, vm := range snap.VMs {
			if len(vm.InventoryPath) > 4*maxPath || len(vm.Name) > maxName || vm.HostName != "" && !inventory.IsHostName(vm.HostName) {
				t.Errorf("a VM has the path %q, the name %q and the host name %q", vm.InventoryPath, vm.Name, vm.HostName)
			}
		}
	})
}
