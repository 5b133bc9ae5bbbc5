package app

import (
	"strings"
	"testing"
	"time"

	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	genericapp "k8s.io/controller-manager/app"

	"vzones/provider"
)

func newOptions(t *testing.T) *options.CloudControllerManagerOptions {
	t.Helper()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	setDefaults(opts)
	return opts
}

// parseFlags reads flags as the command would and returns the framework's error
// about them.
func parseFlags(t *testing.T, args ...string) (*options.CloudControllerManagerOptions, error) {
	t.Helper()
	opts, d := newOptions(t), New(nil, Options{})
	cmd := d.newCommand(t.Context(), opts)
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	return opts, opts.Validate(app.ControllerNames(d.controllers(t.Context())), app.ControllersDisabledByDefault.List(), aliases(), nil, nil)
}

// TestFlagsOfTheIncumbentsDeployments: its manifests, its chart and the
// platforms that ship it set these.
func TestFlagsOfTheIncumbentsDeployments(t *testing.T) {
	opts, err := parseFlags(t,
		"--cloud-provider=vsphere", "--cloud-config=/etc/cloud/vsphere.conf", "--kubeconfig=/etc/kubernetes/admin.conf",
		"--controllers=cloud-node,cloud-node-lifecycle", "--leader-elect=true", "--secure-port=10258",
		"--node-status-update-frequency=2m", "-v=2", "--leader-elect-resource-name=vsphere-ccm",
		"--leader-elect-resource-namespace=kube-system", "--bind-address=127.0.0.1", "--allow-untagged-cloud=true",
		"--cluster-name=kubernetes", "--use-service-account-credentials=true", "--configure-cloud-routes=false",
		"--leader-elect-lease-duration=137s", "--leader-elect-renew-deadline=107s", "--leader-elect-retry-period=26s",
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := opts.KubeCloudShared.CloudProvider.CloudConfigFile; got != "/etc/cloud/vsphere.conf" {
		t.Errorf("--cloud-config is %q", got)
	}
	if got := opts.NodeStatusUpdateFrequency.Duration; got != 2*time.Minute {
		t.Errorf("--node-status-update-frequency is %v", got)
	}
	if got := opts.Generic.LeaderElection.ResourceName; got != "vsphere-ccm" {
		t.Errorf("--leader-elect-resource-name is %q", got)
	}
}

func TestControllerNames(t *testing.T) {
	for names, ok := range map[string]bool{
		"cloud-node,cloud-node-lifecycle,service,route":                                                     true,
		"cloud-node-controller,cloud-node-lifecycle-controller,service-lb-controller,node-route-controller": true,
		"*":                     true,
		"*,-service,-route":     true,
		"-cloud-node-lifecycle": true,
		"cloud-nodes":           false,
		"*,nodeipam":            false,
	} {
		_, err := parseFlags(t, "--controllers="+names)
		if (err == nil) != ok {
			t.Errorf("--controllers=%s: %v", names, err)
		}
		if !ok && err != nil && !strings.Contains(err.Error(), "known controllers") {
			t.Errorf("--controllers=%s: %v", names, err)
		}
	}
	for alias, name := range aliases() {
		if _, ok := New(nil, Options{}).controllers(t.Context())[name]; !ok {
			t.Errorf("%s stands for %s, which is not a controller", alias, name)
		}
	}
}

// TestControllersThatAreNotOurs do nothing instead of failing the daemon.
func TestControllersThatAreNotOurs(t *testing.T) {
	all := New(nil, Options{}).controllers(t.Context())
	for _, name := range []string{names.ServiceLBController, names.NodeRouteController} {
		c, started, err := all[name].Constructor(app.ControllerInitContext{}, nil, nil)(t.Context(), genericapp.ControllerContext{})
		if c != nil || started || err != nil {
			t.Errorf("%s: %v, %v, %v", name, c, started, err)
		}
	}
	for _, name := range []string{names.CloudNodeController, names.CloudNodeLifecycleController} {
		if c := all[name]; c.Constructor == nil || c.InitContext.ClientName != app.DefaultInitFuncConstructors[name].InitContext.ClientName {
			t.Errorf("%s is not the framework's: %+v", name, c.InitContext)
		}
	}
}

// TestDefaults: as they come out of the flags, where the framework has defaults
// of its own.
func TestDefaults(t *testing.T) {
	opts, err := parseFlags(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][2]any{
		"--cloud-provider":                  {opts.KubeCloudShared.CloudProvider.Name, provider.Name},
		"--concurrent-node-syncs":           {opts.NodeController.ConcurrentNodeSyncs, int32(30)},
		"--concurrent-node-status-updates":  {opts.NodeController.ConcurrentNodeStatusUpdates, int32(4)},
		"--concurrent-node-lifecycle-syncs": {opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs, int32(4)},
		"--kube-api-qps":                    {opts.Generic.ClientConnection.QPS, float32(1000)},
		"--kube-api-burst":                  {opts.Generic.ClientConnection.Burst, int32(2000)},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is %v, want %v", name, got[0], got[1])
		}
	}
	opts, err = parseFlags(t, "--concurrent-node-status-updates=7", "--concurrent-node-syncs=1", "--kube-api-qps=20")
	if err != nil || opts.NodeController.ConcurrentNodeStatusUpdates != 7 || opts.NodeController.ConcurrentNodeSyncs != 1 || opts.Generic.ClientConnection.QPS != 20 {
		t.Errorf("the flags do not overrule the defaults: %+v, %v", opts.NodeController, err)
	}
}
