package lies

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"

	"vzones/test/cluster"
	"vzones/test/stack"
	"vzones/vcenter/session"
	"vzones/vcenter/vcentertest"
)

const (
	// mostMemory is the limit of the daemon's peak resident memory in bytes. The Pod's limit is 512 MiB.
	mostMemory = 300 << 20
	// hostileTime is the minimum run time of the daemon with a hostile vCenter.
	hostileTime = 6 * time.Second
	// hostileUUID is the BIOS UUID of the VM in the hostile vCenter.
	hostileUUID = "42000000-bad0-4000-8000-000000000001"
)

// A hostile vCenter sends hostile responses; all other responses are minimal and valid.
type hostile struct {
	// beforeLogin is the response to the first request, before a login.
	beforeLogin string
	// updates returns the content of the response to the n-th poll for changes.
	updates func(n int) string
	// attached is the response to a request for attached tags, tag the name of every tag.
	attached, tag string
	// logged is the daemon's expected log text.
	logged string

	polls atomic.Int64
}

// TestHostileVCenters: with a hostile vCenter, the daemon stays below its memory limit, and the Nodes of an honest
// vCenter are initialized.
func TestHostileVCenters(t *testing.T) {
	if err := cluster.Wanted(); err != nil {
		t.Skip(err)
	}
	if stack.Race {
		t.Skip("the race detector multiplies memory")
	}
	attacks := map[string]*hostile{
		"the densest type before the login": {beforeLogin: denseFault(t, types.TypeFunc(), 830_000), logged: "more than 4 MiB or 100,000 elements"},
		"the densest type that is read":     {beforeLogin: denseFault(t, session.KnownType, 99_000), logged: "made-up fault"},
		"causes of causes before the login": {beforeLogin: nestedFault(99_000), logged: "more than 256 levels deep"},
		"attributes before the login":       {beforeLogin: fault("SystemError", "<y "+strings.Repeat(`a="" `, 800_000)+"/>"), logged: "more than 4 MiB or 100,000 elements"},
		"properties of the densest type":    {updates: denseProperties(t), logged: "more than 4 MiB or 100,000 elements"},
		"nested folders with long names":    {updates: folders},
		"pages without end":                 {updates: endlessPages, logged: "more than 100,000 VMs"},
		"pages of other UUIDs without end":  {updates: changingUUIDs},
		"properties that nobody asked for":  {updates: unasked},
		"tags with long names":              {updates: oneVM, attached: manyTags(2000), tag: strings.Repeat("x", 3<<20), logged: "more than 1,024 bytes"},
		"attached tags without objects":     {updates: oneVM, attached: "[" + strings.Repeat("{},", 1_390_000) + "{}]", logged: "more than 4 MiB or 100,000 elements"},
		"more tags than a vCenter has":      {updates: oneVM, attached: manyTags(90_000), tag: strings.Repeat("x", 1000), logged: "more than 10,000 tags"},
	}
	s, err := stack.Start(t.Context(), stack.Options{Fleet: fmt.Sprintf(honestFleet, len(attacks))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	binary, err := stack.Binary(t.Context(), filepath.Join("..", ".."), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, h := range attacks {
		node := fmt.Sprintf("joins-%04d", n)
		n++
		t.Run(name, func(t *testing.T) { h.play(t, s, binary, node) })
	}
}

const honestFleet = `
vcenters:
- name: west
  tags: {region: west}
  datacenters:
  - name: dc
    clusters: [{name: a, tags: {zone: west-a}, hosts: 1}]
    vms: [{name: joins, count: %d, cluster: a}]
`

// play runs a daemon with the hostile and the honest vCenter. A Node of the honest vCenter joins meanwhile.
func (h *hostile) play(t *testing.T, s *stack.Stack, binary, node string) {
	front := vcentertest.NewFront(t, h)
	ca := filepath.Join(t.TempDir(), "east.pem")
	if err := os.WriteFile(ca, front.Cert.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := s.WriteConfig(fmt.Sprintf("  east:\n    server: 127.0.0.1\n    port: %d\n    caFile: %s\n    user: made-up\n    password: made-up\nlabels: {region: region, zone: zone}\n",
		front.VCenter(t).Port, ca))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cluster.CreateNode(t.Context(), cluster.NodeSpec{Name: "hostile-" + node, SystemUUID: hostileUUID}.Node()); err != nil {
		t.Fatal(err)
	}
	d, err := s.StartDaemon(binary, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Kill(); err != nil {
			t.Error(err)
		}
	}()
	w := &world{t: t, s: s, d: d}
	defer w.remove(node)
	defer w.remove("hostile-" + node)
	time.Sleep(hostileTime / 2)
	began := time.Now()
	w.create(cluster.NodeSpec{Name: node, SystemUUID: w.vm(node).UUID}.Node())
	if err := w.await(timeout, func(nodes map[string]*v1.Node) error {
		if n := nodes[node]; n == nil || !stack.Initialized(n) || n.Labels[v1.LabelTopologyZone] != "west-a" {
			return errors.New("it is not initialized in its zone")
		}
		return nil
	}); err != nil {
		t.Errorf("the Node of the other vCenter: %v", err)
	}
	took := time.Since(began)
	time.Sleep(time.Until(began.Add(hostileTime / 2)))
	used, err := d.Usage()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak %d MiB, CPU %v, the other Node initialized after %v, %d polls", used.Peak>>20, used.CPU, took.Round(time.Millisecond), h.polls.Load())
	if !strings.Contains(d.Log(), h.logged) {
		t.Errorf("the daemon's log does not contain %q", h.logged)
	}
	if used.Peak > mostMemory {
		t.Errorf("the daemon used %d MiB, want at most %d", used.Peak>>20, mostMemory>>20)
	}
	if t.Failed() {
		t.Log(tail(d.Log()))
	}
}

func envelope(content string) string {
	return `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><Body>` + content + `</Body></Envelope>`
}

func fault(kind, value string) string {
	return envelope(`<Fault><faultcode>ServerFaultCode</faultcode><faultstring>made-up fault</faultstring><detail><x xsi:type="` + kind + `">` + value + `</x></detail></Fault>`)
}

func denseFault(t *testing.T, known types.Func, elements int) string {
	dense := vcentertest.Densest(t, known)
	return fault(dense.Name, dense.Value(elements))
}

func nestedFault(levels int) string {
	const begin, end = `<faultCause><fault xsi:type="SystemError">`, `</fault></faultCause>`
	levels /= 2
	return fault("SystemError", strings.Repeat(begin, levels)+strings.Repeat(end, levels))
}

// update returns a page of changes reported by a filter. partial announces further pages.
func update(filter string, partial bool, objects string) string {
	return fmt.Sprintf(`<version>1</version><filterSet><filter type="PropertyFilter">%s</filter>%s</filterSet><truncated>%t</truncated>`, filter, objects, partial)
}

// object returns a new object with properties.
func object(kind, id string, properties ...string) string {
	return fmt.Sprintf(`<objectSet><kind>enter</kind><obj type="%s">%s</obj>%s</objectSet>`, kind, id, strings.Join(properties, ""))
}

func property(name, kind, value string) string {
	return `<changeSet><name>` + name + `</name><op>assign</op><val xsi:type="` + kind + `">` + value + `</val></changeSet>`
}

func reference(name, kind, id string) string {
	return `<changeSet><name>` + name + `</name><op>assign</op><val type="` + kind + `" xsi:type="ManagedObjectReference">` + id + `</val></changeSet>`
}

// The filters of a watch in creation order.
const (
	details = "filter-1"
	index   = "filter-2"
)

// theVM returns the VM of the hostile vCenter's Node.
func theVM() string {
	return object("VirtualMachine", "vm-1", property("config.uuid", "xsd:string", hostileUUID))
}

func oneVM(n int) string {
	switch n {
	case 0:
		return update(index, false, theVM())
	case 1:
		return update(details, false, object("VirtualMachine", "vm-1", property("name", "xsd:string", "vm"), property("config.uuid", "xsd:string", hostileUUID),
			reference("parent", "Folder", "group-d1"))+object("Folder", "group-d1", property("name", "xsd:string", "root")))
	}
	return ""
}

func denseProperties(t *testing.T) func(int) string {
	dense := vcentertest.Densest(t, types.TypeFunc())
	page := update(index, true, object("VirtualMachine", "vm-1", property("config.uuid", dense.Name, dense.Value(830_000))))
	return func(int) string { return page }
}

// folders returns a VM in 990 nested folders with names of 4,000 bytes.
func folders(n int) string {
	switch n {
	case 0:
		return update(index, false, theVM())
	case 1:
		var b strings.Builder
		for i := range 990 {
			b.WriteString(object("Folder", fmt.Sprintf("group-v%d", i), property("name", "xsd:string", strings.Repeat("x", 4000)), reference("parent", "Folder", fmt.Sprintf("group-v%d", i+1))))
		}
		return update(details, false, object("VirtualMachine", "vm-1", property("config.uuid", "xsd:string", hostileUUID), reference("parent", "Folder", "group-v0"))+b.String())
	}
	return ""
}

// endlessPages returns 4,000 new VMs per page.
func endlessPages(n int) string {
	var b strings.Builder
	for i := range 4000 {
		b.WriteString(object("VirtualMachine", fmt.Sprintf("vm-%d", 4000*n+i), property("config.uuid", "xsd:string", fmt.Sprintf("42000000-0000-4000-8000-%012d", 4000*n+i))))
	}
	return update(index, true, b.String())
}

// changingUUIDs returns the same VMs with new UUIDs in each page.
func changingUUIDs(n int) string {
	if n == 0 {
		return update(index, false, theVM())
	}
	var b strings.Builder
	for i := range 4000 {
		b.WriteString(object("VirtualMachine", fmt.Sprintf("vm-%d", i), property("config.uuid", "xsd:string", fmt.Sprintf("42000000-0000-4000-8000-%012d", 4000*n+i))))
	}
	return update(index, n > 1, b.String())
}

// unasked returns large values of unrequested properties of one folder.
func unasked(n int) string {
	if n == 0 {
		return update(index, false, theVM())
	}
	return update(details, true, object("Folder", "group-d1", property(fmt.Sprint("p", n), "xsd:string", strings.Repeat("x", 3<<20))))
}

// manyTags returns n tags attached to the VM.
func manyTags(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"tag-%d"`, i)
	}
	return `[{"object_id":{"id":"vm-1","type":"VirtualMachine"},"tag_ids":[` + strings.Join(ids, ",") + `]}]`
}

// ServeHTTP compresses its responses to reduce the cost of sending them.
func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	defer func() { _ = z.Close() }()
	text := h.answer(r, string(body))
	if strings.Contains(text, "<Fault>") {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = io.WriteString(z, text)
}

func (h *hostile) answer(r *http.Request, body string) string {
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/session"):
		return `"made-up"`
	case strings.Contains(r.URL.Path, "tag-association"):
		return h.attached
	case strings.Contains(r.URL.Path, "/tagging/tag/"):
		return `{"name":"` + h.tag + `","category_id":"zone"}`
	case strings.Contains(r.URL.Path, "/tagging/category/"):
		return `{"name":"zone"}`
	case strings.Contains(r.URL.Path, "/tagging/category"):
		return `["zone"]`
	}
	_, method, _ := strings.Cut(body, "<Body><")
	method, _, _ = strings.Cut(method, " ")
	ref := func(kind, id string) string {
		return envelope(fmt.Sprintf(`<%[1]sResponse><returnval type="%[2]s">%[3]s</returnval></%[1]sResponse>`, method, kind, id))
	}
	switch method {
	case "RetrieveServiceContent":
		if h.beforeLogin != "" {
			return h.beforeLogin
		}
		return envelope(`<RetrieveServiceContentResponse><returnval><rootFolder type="Folder">group-d1</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector>` +
			`<viewManager type="ViewManager">vm</viewManager><about><apiType>VirtualCenter</apiType><instanceUuid>made-up</instanceUuid></about>` +
			`<sessionManager type="SessionManager">sm</sessionManager><searchIndex type="SearchIndex">si</searchIndex></returnval></RetrieveServiceContentResponse>`)
	case "Login":
		h.polls.Store(0)
		return envelope(`<LoginResponse><returnval><key>made-up</key></returnval></LoginResponse>`)
	case "CreatePropertyCollector":
		h.polls.Store(0)
		return ref("PropertyCollector", "pc-1")
	case "CreateListView", "CreateContainerView":
		return ref("View", "view-"+method)
	case "CreateFilter":
		if strings.Contains(body, "view-CreateListView") {
			return ref("PropertyFilter", details)
		}
		return ref("PropertyFilter", index)
	case "WaitForUpdatesEx":
		content := h.updates(int(h.polls.Add(1)) - 1)
		if content == "" {
			time.Sleep(time.Second)
			return envelope(`<WaitForUpdatesExResponse></WaitForUpdatesExResponse>`)
		}
		return envelope(`<WaitForUpdatesExResponse><returnval>` + content + `</returnval></WaitForUpdatesExResponse>`)
	}
	return envelope("<" + method + "Response/>")
}
