package app

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	genericapp "k8s.io/controller-manager/app"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/config"
	"vzones/config/load"
	"vzones/provider"
	"vzones/topology"
	"vzones/vcenter"
)

// oneClient returns one client for every name.
type oneClient struct{ kubernetes.Interface }

func (oneClient) Config(string) (*rest.Config, error)           { return nil, errors.ErrUnsupported }
func (oneClient) ConfigOrDie(string) *rest.Config               { panic(errors.ErrUnsupported) }
func (c oneClient) Client(string) (kubernetes.Interface, error) { return c, nil }
func (c oneClient) ClientOrDie(string) kubernetes.Interface     { return c }

// TestControllersLeaveNodesOfOthersAlone: the framework's own lister would contain these Nodes. Without
// a call to the provider, the framework untaints ready Nodes and equalizes their beta and stable
// labels.
func TestControllersLeaveNodesOfOthersAlone(t *testing.T) {
	node := func(name, providerID string) *v1.Node {
		return &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelFailureDomainBetaZone: "a", v1.LabelTopologyZone: "b"}},
			Spec: v1.NodeSpec{ProviderID: providerID, Taints: []v1.Taint{
				{Key: cloudproviderapi.TaintNodeShutdown, Effect: v1.TaintEffectNoSchedule},
			}},
			Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}
	}
	for name, touched := range map[string]func(*v1.Node) bool{
		names.CloudNodeLifecycleController: func(n *v1.Node) bool { return len(n.Spec.Taints) == 0 },
		names.CloudNodeController:          func(n *v1.Node) bool { return n.Labels[v1.LabelTopologyZone] == "a" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				client := fake.NewClientset(node("ours", "vsphere://422e4956-ad22-1139-6d72-59cc8f26bc90"), node("another", "aws:///eu-central-1a/i-0abcdef"))
				d := New(nil, Options{})
				d.provider = provider.New(vcenter.NewFleet(nil, vcenter.FromFile, vcenter.Options{}), &config.Config{}, provider.Options{})
				factory := informers.NewSharedInformerFactory(client, 0)
				d.provider.Initialize(oneClient{client}, nil)
				d.provider.SetInformers(factory)

				c := &appconfig.Config{ClientBuilder: oneClient{client}, SharedInformers: factory}
				c.ComponentConfig.NodeStatusUpdateFrequency.Duration = time.Minute
				c.ComponentConfig.NodeController.ConcurrentNodeSyncs = 1
				c.ComponentConfig.NodeController.ConcurrentNodeStatusUpdates = 1
				c.ComponentConfig.NodeLifecycleController.NodeMonitorPeriod.Duration = time.Second
				c.ComponentConfig.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = 1
				completed := &appconfig.CompletedConfig{}
				*completed = *c.Complete()

				start := d.controllers(ctx)[name].Constructor(app.ControllerInitContext{ClientName: name}, completed, d.provider)
				if _, ok, err := start(ctx, genericapp.ControllerContext{ControllerManagerMetrics: controllersmetrics.NewControllerManagerMetrics("test")}); !ok || err != nil {
					t.Fatalf("%s: started %v, error %v, want it started", name, ok, err)
				}
				factory.Start(ctx.Done())
				time.Sleep(5 * time.Second)
				synctest.Wait()
				for name, want := range map[string]bool{"ours": true, "another": false} {
					n, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if touched(n) != want {
						t.Errorf("the Node %s is touched: %v, want %v", name, touched(n), want)
					}
				}
				cancel()
				factory.Shutdown()
				synctest.Wait()
			})
		})
	}
}

// TestTopologyControllerCanBeSwitchedOff: --controllers contains the controller, which is on by
// default. Its client has the incumbent's name, to which platforms bind roles.
func TestTopologyControllerCanBeSwitchedOff(t *testing.T) {
	all := New(nil, Options{}).controllers(t.Context())
	if c := all["topology-controller"]; c.Constructor == nil || c.InitContext.ClientName != "vsphere-cloud-controller-manager" {
		t.Fatalf("registered as %+v", c.InitContext)
	}
	for flag, on := range map[string]bool{
		"*": true, "topology-controller": true, "*,-topology-controller": false, "cloud-node,cloud-node-lifecycle": false,
	} {
		opts, err := parseFlags(t, "--controllers="+flag)
		if err != nil {
			t.Fatal(err)
		}
		got := genericapp.IsControllerEnabled("topology-controller", app.ControllersDisabledByDefault, opts.Generic.Controllers)
		if got != on {
			t.Errorf("--controllers=%s: on %t", flag, got)
		}
	}
	if opts, err := parseFlags(t); err != nil || !genericapp.IsControllerEnabled("topology-controller", app.ControllersDisabledByDefault, opts.Generic.Controllers) {
		t.Errorf("off by default: %v", err)
	}
}

// TestAdviceOnControllers: only a controller that --controllers names is worth a log line. The default, "*",
// includes the controllers that are not part of vzones.
func TestAdviceOnControllers(t *testing.T) {
	const flag = "--controllers="
	for _, c := range []struct {
		flags []string
		want  map[string]bool
	}{
		{want: map[string]bool{}},
		{flags: []string{flag + "*"}, want: map[string]bool{}},
		{flags: []string{flag + "cloud-node,service"}, want: map[string]bool{names.ServiceLBController: true}},
		{flags: []string{flag + "*,node-route-controller"}, want: map[string]bool{names.NodeRouteController: true}},
	} {
		opts, err := parseFlags(t, c.flags...)
		if err != nil {
			t.Fatal(err)
		}
		a := New(nil, Options{})
		all := a.controllers(t.Context())
		completed := new(appconfig.Config).Complete()
		if err := opts.Generic.ApplyTo(&completed.ComponentConfig.Generic, app.ControllerNames(all), nil, aliases()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{names.ServiceLBController, names.NodeRouteController} {
			var out bytes.Buffer
			log := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(2)))
			start := all[name].Constructor(app.ControllerInitContext{}, completed, nil)
			if _, started, err := start(klog.NewContext(t.Context(), log), genericapp.ControllerContext{}); started || err != nil {
				t.Errorf("%v: %s: started %t, error %v, want neither", c.flags, name, started, err)
			}
			if got := out.Len() > 0; got != c.want[name] {
				t.Errorf("%v: %s: the log is %q, want a line: %t", c.flags, name, &out, c.want[name])
			}
		}
	}
}

const twoVCenters = `
vcenter:
  east: {server: vc-east.example.com, user: u, password: FromTheFile42}
  west: {server: vc-west.example.com, user: u, password: FromTheFile42}
labels: {region: k8s-region, zone: k8s-zone}
`

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := load.Parse("vsphere.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRequirements: tags are required on the paths that decide. Rules from the inventory require none.
func TestRequirements(t *testing.T) {
	both := []string{"k8s-region", "k8s-zone"}
	for text, want := range map[string]vcenter.Requirements{
		twoVCenters: {Tags: true, Categories: both, Paths: topology.DefaultPaths()},
		twoVCenters + "topology: {paths: [compute]}\n":                                                          {Tags: true, Categories: both, Paths: []topology.PathKind{topology.ComputePath}},
		strings.Replace(twoVCenters, "labels:", "topology: {paths: [folder]}\nlabels:", 1):                      {Tags: true, Categories: both, Paths: []topology.PathKind{topology.FolderPath}},
		strings.Replace(twoVCenters, "{region: k8s-region, zone: k8s-zone}", "{zone: {inventory: cluster}}", 1): {},
		strings.Replace(twoVCenters, "{region: k8s-region, zone: k8s-zone}", "{zone: {hostGroup: site-*}}", 1):  {HostGroups: true},
		twoVCenters + "topology: {levels: [{label: example.com/d, inventory: vsanFaultDomain}]}\n":              {Tags: true, Categories: both, Paths: topology.DefaultPaths(), FaultDomains: true},
	} {
		if diff := cmp.Diff(want, vcenter.RequirementsOf(parsed(t, text))); diff != "" {
			t.Errorf("%s: the requirements differ (-want +got): %s", text, diff)
		}
	}
}
