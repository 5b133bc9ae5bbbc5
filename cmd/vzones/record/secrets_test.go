package record

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	vapi "github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"

	"vzones/cmd/vzones/world"
	"vzones/provider/nodeinfo"
	"vzones/test/fixture"
)

// A planter replaces strings by distinct secrets.
type planter struct {
	secrets []string
	// skip reports whether the server or the client depends on the value of a field.
	skip map[string]bool
}

func (p *planter) secret() string {
	letters := make([]byte, 14)
	for i := range letters {
		letters[i] = 'a' + byte(rand.IntN(26))
	}
	p.secrets = append(p.secrets, string(letters))
	return string(letters)
}

// plant replaces each string in a value, whether set or not.
func (p *planter) plant(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(p.secret())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			p.plant(v.Elem())
		}
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Elem().Kind() == reflect.String && v.CanSet() {
			v.Set(reflect.ValueOf(p.secret()))
			return
		}
		p.plant(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			p.plant(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String && !v.IsNil() {
			for _, key := range v.MapKeys() {
				v.SetMapIndex(key, reflect.ValueOf(p.secret()).Convert(v.Type().Elem()))
			}
			v.SetMapIndex(reflect.ValueOf(p.secret()), reflect.ValueOf(p.secret()))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[types.ManagedObjectReference]() || v.Type() == reflect.TypeFor[time.Time]() {
			return // The objects would be lost.
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && !p.skip[field.Name] {
				p.plant(v.Field(i))
			}
		}
	}
}

// TestNoSecretIsRecorded plants a secret in every string of all managed objects, tags and Nodes, and in all credentials.
func TestNoSecretIsRecorded(t *testing.T) {
	p := &planter{skip: map[string]bool{
		// The simulator's traversals and the client's choice of the API depend on these.
		"ApiType": true, "ApiVersion": true, "ChildType": true,
	}}
	model := simulator.VPX()
	model.Datacenter = 2
	model.Pool = 1
	model.App = 1
	model.Folder = 1
	t.Cleanup(model.Remove)
	if err := model.Create(); err != nil {
		t.Fatal(err)
	}
	user, password := p.secret(), p.secret()
	model.Service.TLS = &tls.Config{}
	model.Service.RegisterEndpoints = true
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(user, password)}
	server := model.Service.NewServer()
	t.Cleanup(func() { _ = server.Config.Close() })

	var uuids []string
	registry := model.Map()
	for _, object := range registry.AllReference("") {
		if vm, ok := object.(*simulator.VirtualMachine); ok {
			uuids = append(uuids, vm.Config.Uuid)
		}
		p.plant(managedObject(object))
	}
	category := p.tag(t, server.URL, registry)

	node := v1.Node{}
	node.Labels = map[string]string{"topology.kubernetes.io/zone": "a"}
	node.Annotations = map[string]string{nodeinfo.KeyVM: "a", nodeinfo.KeyFormerAddresses: "a"}
	node.Spec.Taints = make([]v1.Taint, 1)
	node.Status.Addresses = make([]v1.NodeAddress, 2)
	node.Status.Conditions = make([]v1.NodeCondition, 2)
	node.Status.Images = []v1.ContainerImage{{Names: []string{"a"}}}
	p.plant(reflect.ValueOf(&node))
	node.Status.NodeInfo.SystemUUID = uuids[0]
	node.Status.Addresses[0].Type = v1.NodeInternalIP
	node.Status.Conditions[0].Type = v1.NodeReady
	node.Status.Addresses[1] = v1.NodeAddress{Type: v1.NodeExternalIP, Address: "203.0.113.77"}
	p.secrets = append(p.secrets, "203.0.113.77")
	node.Annotations["alpha.kubernetes.io/provided-node-ip"] = p.secret()

	entry := p.secret()
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p.secrets = append(p.secrets, strings.Split(string(ca), "\n")[1], uuids[0])
	config := fmt.Sprintf("vcenter:\n  %s:\n    server: %s\n    port: %s\n    user: %s\n    password: %s\n    caData: %q\nlabels:\n  zone: {tag: %s}\n  region: {inventory: datacenter, required: false}\n",
		entry, server.URL.Hostname(), server.URL.Port(), user, password, ca, category)
	configFile := filepath.Join(dir, "vsphere.yaml")
	if err := os.WriteFile(configFile, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := &world.Flags{Config: configFile, Kubeconfig: fixture.ServeNodes(t, []v1.Node{node}), Timeout: time.Minute}
	r, err := record(t.Context(), flags, newNames([32]byte{2}))
	if err != nil {
		t.Fatal(err)
	}
	if v := r.about.VCenters[0]; len(v.Errors) > 0 || v.Objects[typeVM] == 0 || v.Objects[typeVM] != len(uuids) {
		t.Fatalf("the recording of a vCenter with %d VMs: %+v", len(uuids), v)
	}
	if len(p.secrets) < 1000 {
		t.Errorf("only %d secrets are planted", len(p.secrets))
	}
	t.Logf("%d secrets are planted", len(p.secrets))
	for _, f := range append(r.files, file{name: "--dry-run", data: r.contents()}) {
		for _, secret := range p.in(f) {
			t.Errorf("%s contains the secret %s", f.name, secret)
		}
	}
	found := 0
	if r, err = record(t.Context(), flags, nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.files {
		found += len(p.in(f))
	}
	if found == 0 {
		t.Error("with --keep-names, no planted text is found: the search for them is broken")
	}
}

// in returns the secrets that a file contains.
func (p *planter) in(f file) (found []string) {
	text := bytes.ToLower(append([]byte(f.name), f.data...))
	for _, secret := range p.secrets {
		if bytes.Contains(text, []byte(strings.ToLower(secret))) {
			found = append(found, secret)
		}
	}
	return found
}

// managedObject returns the properties of an object, without the simulator's own fields.
func managedObject(object mo.Reference) reflect.Value {
	v := reflect.ValueOf(object).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Anonymous && strings.HasSuffix(field.Type.PkgPath(), "/vim25/mo") {
			return v.Field(i)
		}
	}
	return v
}

// tag attaches tags to hosts, and returns the name of one of their categories.
func (p *planter) tag(t *testing.T, at *url.URL, registry *simulator.Registry) (name string) {
	t.Helper()
	client, err := vim25.NewClient(t.Context(), soap.NewClient(at, true))
	if err != nil {
		t.Fatal(err)
	}
	session := rest.NewClient(client)
	if err := session.Login(t.Context(), at.User); err != nil {
		t.Fatal(err)
	}
	m := vapi.NewManager(session)
	for range 3 {
		name = p.secret()
		category, err := m.CreateCategory(t.Context(), &vapi.Category{Name: name, Description: p.secret(), Cardinality: "MULTIPLE"})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range registry.All("HostSystem") {
			tag, err := m.CreateTag(t.Context(), &vapi.Tag{Name: p.secret(), Description: p.secret(), CategoryID: category})
			if err == nil {
				err = m.AttachTag(t.Context(), tag, object.Reference())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return name
}
