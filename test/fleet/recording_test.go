package fleet

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/tags"
)

// A recording in the layout of govc object.save: the service, the root folder and a datacenter.
var recorded = map[string]string{
	"0000-ServiceInstance-ServiceInstance.xml": `<obj type="ServiceInstance">ServiceInstance</obj><propSet><name>content</name><val xsi:type="ServiceContent">
		<rootFolder type="Folder">group-d7</rootFolder><propertyCollector type="PropertyCollector">propertyCollector</propertyCollector><viewManager type="ViewManager">ViewManager</viewManager>
		<about><apiType>VirtualCenter</apiType><apiVersion>7.0.1</apiVersion><instanceUuid>c340395b-2ec6-4243-9408-95a2a91d7455</instanceUuid></about>
		<sessionManager type="SessionManager">SessionManager</sessionManager><searchIndex type="SearchIndex">SearchIndex</searchIndex>
		<authorizationManager type="AuthorizationManager">AuthorizationManager</authorizationManager><eventManager type="EventManager">EventManager</eventManager>
		<setting type="OptionManager">VpxSettings</setting></val></propSet>`,
	"0001-SearchIndex-SearchIndex.xml":                   `<obj type="SearchIndex">SearchIndex</obj>`,
	"0002-SessionManager-SessionManager.xml":             `<obj type="SessionManager">SessionManager</obj>`,
	"0003-ViewManager-ViewManager.xml":                   `<obj type="ViewManager">ViewManager</obj>`,
	"0004-PropertyCollector-propertyCollector.xml":       `<obj type="PropertyCollector">propertyCollector</obj>`,
	"0004-AuthorizationManager-AuthorizationManager.xml": `<obj type="AuthorizationManager">AuthorizationManager</obj>`,
	"0004-EventManager-EventManager.xml":                 `<obj type="EventManager">EventManager</obj>`,
	"0004-OptionManager-VpxSettings.xml":                 `<obj type="OptionManager">VpxSettings</obj>`,
	"0005-Folder-group-d7.xml": `<obj type="Folder">group-d7</obj><propSet><name>name</name><val xsi:type="xsd:string">Datacenters</val></propSet>
		<propSet><name>childEntity</name><val xsi:type="ArrayOfManagedObjectReference"><ManagedObjectReference type="Datacenter">datacenter-2</ManagedObjectReference></val></propSet>`,
	"0006-Datacenter-datacenter-2.xml": `<obj type="Datacenter">datacenter-2</obj><propSet><name>name</name><val xsi:type="xsd:string">Lab</val></propSet>
		<propSet><name>parent</name><val xsi:type="ManagedObjectReference" type="Folder">group-d7</val></propSet>`,
}

func writeRecording(t *testing.T, tags string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range recorded {
		content = `<ObjectContent xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema">` + content + `</ObjectContent>`
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if tags != "" {
		if err := os.WriteFile(filepath.Join(dir, "tags.yaml"), []byte(tags), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func startRecording(ctx context.Context, dir string) (*Fleet, error) {
	return Start(ctx, &Spec{VCenters: []VCenterSpec{{Name: "east", Recording: dir}}})
}

func TestRecording(t *testing.T) {
	t.Parallel()
	dir := writeRecording(t, "categories:\n- name: zone\n  cardinality: SINGLE\n  types: [Datacenter]\n  tags:\n  - name: a\n    objects: [Datacenter:datacenter-2]\n")
	f, err := startRecording(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v := f.VCenter("east")
	if got := v.InstanceUUID(); got != "c340395b-2ec6-4243-9408-95a2a91d7455" {
		t.Errorf("the instance UUID is %s, want the recorded one", got)
	}
	ref, err := v.Reference("/Lab")
	if err != nil || ref.Value != "datacenter-2" {
		t.Fatalf("/Lab is %v, %v, want datacenter-2", ref, err)
	}
	m := tags.NewManager(login(t, v).rest)
	attached, err := m.GetAttachedTags(within(t, time.Minute), ref)
	if err != nil || len(attached) != 1 || attached[0].Name != "a" {
		t.Errorf("the datacenter has the tags %v, %v, want a", attached, err)
	}
}

func TestRecordingRejected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tags, want string }{
		{"categories: [{name: zone, tags: [{name: a, objects: [Datacenter:datacenter-3]}]}]", "no object Datacenter:datacenter-3"},
		{"categories: [{name: zone, tags: [{name: a, objects: [datacenter-2]}]}]", `"datacenter-2" is not TYPE:ID`},
		{"categories: [{name: zone, tag: []}]", "field tag not found"},
	} {
		f, err := startRecording(t.Context(), writeRecording(t, c.tags))
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("tags.yaml with %s: error %v, want %q", c.tags, err, c.want)
		}
	}
	if _, err := startRecording(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no XML files") {
		t.Errorf("an empty folder: error %v, want no XML files", err)
	}
}
