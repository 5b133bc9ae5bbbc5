package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"
	cloudproviderapi "k8s.io/cloud-provider/api"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"

	"vzones/internal/quote"
	"vzones/provider/nodeinfo"
	"vzones/topology"
	"vzones/vcenter/inventory"
)

// hostile are values that would flood a log or forge a line of it.
var hostile = map[string]string{
	"long":     strings.Repeat("x", 1<<16),
	"forged":   "a\nI1122 10:00:00.000000       1 forged.go:1] \"Node is deleted\"\n",
	"terminal": "a\x1b[2J\u202e\u2028\x07",
	"blank":    strings.Repeat(" ", 1<<16),
}

// ofNodes are the fields of a Node that its kubelet writes.
var ofNodes = map[string]func(*v1.Node, string){
	"a provider ID":     func(n *v1.Node, s string) { n.Spec.ProviderID = "vsphere://" + s },
	"behind a UUID":     func(n *v1.Node, s string) { n.Spec.ProviderID += s },
	"another cloud's":   func(n *v1.Node, s string) { n.Spec.ProviderID = "other://" + s },
	"a system UUID":     func(n *v1.Node, s string) { n.Status.NodeInfo.SystemUUID = s },
	"behind that":       func(n *v1.Node, s string) { n.Status.NodeInfo.SystemUUID += s },
	"a node IP":         func(n *v1.Node, s string) { annotate(n, cloudproviderapi.AnnotationAlphaProvidedIPAddr, s) },
	"two node IPs":      func(n *v1.Node, s string) { annotate(n, cloudproviderapi.AnnotationAlphaProvidedIPAddr, "10.0.0.1,"+s) },
	"zone of a node IP": func(n *v1.Node, s string) { annotate(n, cloudproviderapi.AnnotationAlphaProvidedIPAddr, "fd00::1%"+s) },
	"a record":          func(n *v1.Node, s string) { annotate(n, nodeinfo.KeyVM, s) },
	"a record's name":   func(n *v1.Node, s string) { annotate(n, nodeinfo.KeyVM, s+"/vm-1") },
	"a record's ID":     func(n *v1.Node, s string) { annotate(n, nodeinfo.KeyVM, "east/"+s) },
	"a vCenter's UUID": func(n *v1.Node, s string) {
		annotate(n, nodeinfo.KeyVM, "east/vm-1")
		annotate(n, nodeinfo.KeyVCenter, s)
	},
	"levels":            func(n *v1.Node, s string) { annotate(n, nodeinfo.KeyLabels, s) },
	"a host name":       func(n *v1.Node, s string) { address(n, v1.NodeHostName, s) },
	"an address":        func(n *v1.Node, s string) { address(n, v1.NodeInternalIP, s) },
	"an address's zone": func(n *v1.Node, s string) { address(n, v1.NodeInternalIP, "fd00::2%"+s) },
	"an address's type": func(n *v1.Node, s string) { address(n, v1.NodeAddressType(s), "10.0.0.9") },
	"a condition": func(n *v1.Node, s string) {
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{Type: v1.NodeConditionType(s), Message: s, Reason: s})
	},
	"an image": func(n *v1.Node, s string) { n.Status.Images = []v1.ContainerImage{{Names: []string{s}}} },
}

// ofVMs are the values that tenants, guests and owners of parts of a vCenter choose.
var ofVMs = map[string]func(*inventory.VM, string){
	"a name":      func(m *inventory.VM, s string) { m.Name, m.InventoryPath = s, "/dc1/vm/"+s },
	"a host name": func(m *inventory.VM, s string) { m.HostName = s },
	"a network":   func(m *inventory.VM, s string) { m.NICs[0].Network, m.NICs[0].Addresses = s, nil },
	"a guest ID":  func(m *inventory.VM, s string) { m.GuestID = s },
	"a tag":       func(m *inventory.VM, s string) { m.Paths = pathOf("east", s) },
	"two tags": func(m *inventory.VM, s string) {
		cluster1(m).Tags = append(cluster1(m).Tags, topology.Tag{Category: "k8s-zone", Name: s})
	},
	"a cluster": func(m *inventory.VM, s string) {
		m.Paths = pathOf("east", "")
		cluster1(m).Path = "/dc1/host/" + s
	},
	"a tag's fault": func(m *inventory.VM, s string) {
		// Package vcenter also quotes the text of a fault.
		cluster1(m).TagsErr = fmt.Errorf("vCenter: %s", quote.Text(s))
	},
}

func annotate(n *v1.Node, key, value string) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) }

func address(n *v1.Node, kind v1.NodeAddressType, value string) {
	n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: kind, Address: value})
}

func cluster1(m *inventory.VM) *topology.Object { return m.Paths[0].Objects[1] }

// TestHostileValues: whatever kubelets, guests and tenants write, each log line, Event and error is one line of bounded
// length. No such Node is deleted or marked as shut down.
func TestHostileValues(t *testing.T) {
	t.Run("text", func(t *testing.T) { testHostileValues(t, false) })
	t.Run("json", func(t *testing.T) { testHostileValues(t, true) })
}

func testHostileValues(t *testing.T, asJSON bool) {
	t.Helper()
	var vms []*inventory.VM
	var nodes []*v1.Node
	add := func(changeNode func(*v1.Node), changeVM func(*inventory.VM)) {
		for _, life := range []func(*v1.Node){
			func(*v1.Node) {}, silent, untainted, func(n *v1.Node) { untainted(n); silent(n) },
		} {
			i := len(vms) + 1
			m := newVM(fmt.Sprintf("422e4956-ad22-1139-6d72-%012d", i), func(m *inventory.VM) {
				m.NICs = []inventory.NIC{{Network: "n", DeviceConfigID: 4000, Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})}}}
			})
			changeVM(m)
			vms = append(vms, m)
			nodes = append(nodes, aNode(fmt.Sprintf("node-%d", i), withSystemUUID(m.UUID.String()), withProviderID(nodeinfo.ProviderID(m.UUID)), changeNode, life))
		}
	}
	for _, value := range hostile {
		for _, change := range ofNodes {
			add(func(n *v1.Node) { change(n, value) }, func(*inventory.VM) {})
		}
		for _, change := range ofVMs {
			add(func(*v1.Node) {}, func(m *inventory.VM) { change(m, value) })
		}
	}
	log := hear(t, asJSON)
	defer func() { checkLog(t, log(), asJSON) }() // also after another failure
	fleet := &fakeFleet{states: states{stateOf("east", vms...)}}
	withBoth(t, fleet, "", func(c *cluster) {
		var errs []error
		for range 4 {
			c.pass(statusEvery)
		}
		for _, n := range nodes {
			_, err1 := c.provider.InstanceMetadata(c.ctx, n)
			_, err2 := c.provider.InstanceExists(c.ctx, n)
			shutDown, err3 := c.provider.InstanceShutdown(c.ctx, n)
			err4 := c.provider.placer.Decide(n).Err
			errs = append(errs, err1, err2, err3, err4)
			if shutDown {
				t.Errorf("%s is shut down", n.Name)
			}
			// This fails if the Node was deleted.
			c.node(n.Name)
		}
		checkTold(c, errs)
	}, nodes...)
}

func checkTold(c *cluster, errs []error) {
	const longest = 8192
	odd := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	}
	for _, err := range errs {
		if err != nil && (len(err.Error()) > longest || odd(err.Error())) {
			c.Errorf("an error of %d bytes: %.300q", len(err.Error()), err)
		}
	}
	told := 0
	for _, a := range c.client.Actions() {
		create, ok := a.(clienttesting.CreateAction)
		if !ok {
			continue
		}
		if e, ok := create.GetObject().(*v1.Event); ok {
			told++
			if len(e.Message) > quote.LongestNote || odd(e.Message) {
				c.Errorf("an Event of %d bytes: %.300q", len(e.Message), e.Message)
			}
		}
	}
	if told < 100 {
		c.Errorf("%d Events only", told)
	}
}

func checkLog(t *testing.T, log string, asJSON bool) {
	t.Helper()
	const longest = 8192
	header := regexp.MustCompile(`^[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.go:\d+\] `)
	lines := 0
	for line := range strings.Lines(log) {
		lines++
		line = strings.TrimSuffix(line, "\n")
		if asJSON && !json.Valid([]byte(line)) || !asJSON && !header.MatchString(line) {
			t.Errorf("a line in another format: %.300q", line)
		}
		if len(line) > longest || strings.HasPrefix(line, "I1122 10:00:00") {
			t.Errorf("a line of %d bytes: %.300q", len(line), line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
			t.Errorf("a line with control characters: %.300q", line)
		}
	}
	if lines < 100 {
		t.Errorf("%d lines only", lines)
	}
}

// hear captures the log until the returned function is called.
func hear(t *testing.T, asJSON bool) func() string {
	t.Helper()
	var mu sync.Mutex
	var b bytes.Buffer
	verbosity := klog.Level(0)
	if err := verbosity.Set("4"); err != nil {
		t.Fatal(err)
	}
	collect := writer(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.Write(p)
	})
	klog.SetOutputBySeverity("INFO", collect)
	if asJSON {
		logger, _ := logsjson.NewJSONLogger(4, logsjson.AddNopSync(collect), nil, nil)
		klog.SetLogger(logger)
		t.Cleanup(klog.ClearLogger)
	}
	stop := func() string {
		klog.SetOutputBySeverity("INFO", writer(func(p []byte) (int, error) { return len(p), nil }))
		mu.Lock()
		defer mu.Unlock()
		return b.String()
	}
	t.Cleanup(func() {
		stop()
		if err := verbosity.Set("0"); err != nil {
			t.Error(err)
		}
	})
	return stop
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
