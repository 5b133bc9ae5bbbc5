package app

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	genericapp "k8s.io/controller-manager/app"

	"vzones/cmd/vzones/world"
	"vzones/provider"
)

// TestFlagsAreDocumented: the reference names existing flags with their defaults, and all of the
// daemon's own flags.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	d := New(nil, Options{})
	cmd := d.newCommand(t.Context(), newOptions(t))
	found := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.HasPrefix(cells[1], " `--") {
			continue
		}
		name := strings.Trim(cells[1], " `-")
		want := strings.Trim(cells[2], " `")
		found[name] = true
		if f := cmd.Flags().Lookup(name); f == nil || f.DefValue != want {
			t.Errorf("--%s is documented with the default %q, and is %+v", name, want, f)
		}
	}
	if len(found) == 0 {
		t.Error("the reference has no flags")
	}
	own := d.flags.Sets()
	if len(own.FlagSets) == 0 {
		t.Error("the daemon has no flags of its own")
	}
	for _, set := range own.FlagSets {
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !found[f.Name] {
				t.Errorf("--%s is not documented", f.Name)
			}
		})
	}
}

// TestFrameworksFlagsThatTheToolReads: the tool parses the daemon's command line without the framework, with the same result.
func TestFrameworksFlagsThatTheToolReads(t *testing.T) {
	cmd := New(nil, Options{}).newCommand(t.Context(), newOptions(t))
	read, err := world.ParseArguments(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"cloud-provider": {"string", read.CloudProvider}, "cloud-config": {"string", read.CloudConfig}, "kubeconfig": {"string", read.Kubeconfig},
		"leader-elect":                    {"bool", strconv.FormatBool(read.LeaderElect)},
		"leader-elect-resource-namespace": {"string", read.LeaseNamespace},
		"leader-elect-resource-name":      {"string", read.LeaseName},
	} {
		if f := cmd.Flags().Lookup(name); f == nil || f.Value.Type() != want[0] || f.DefValue != want[1] {
			t.Errorf("--%s is %+v, want type and default %q", name, f, want)
		}
	}
}

// TestDurationsOfFlags: the defaults and the accepted values.
func TestDurationsOfFlags(t *testing.T) {
	for _, c := range []struct {
		flag, preset      string
		rejected, allowed []string
	}{
		{"tag-refresh", "30s", []string{"-1s", "0", "99ms"}, []string{"100ms", "2m", "1h"}},
		{"max-snapshot-age", "5m0s", []string{"0", "999ms"}, []string{"1s"}},
		{"login-timeout", "1m30s", []string{"-1s", "0", "999ms"}, []string{"1s", "5m"}},
	} {
		d := New(nil, Options{})
		cmd := d.newCommand(t.Context(), newOptions(t))
		if got := cmd.Flags().Lookup(c.flag).DefValue; got != c.preset || d.flags.Check() != nil {
			t.Errorf("--%s: the default is %s (%v), want %s", c.flag, got, d.flags.Check(), c.preset)
		}
		for _, value := range slices.Concat(c.rejected, c.allowed) {
			if err := cmd.ParseFlags([]string{"--" + c.flag + "=" + value}); err != nil {
				t.Fatal(err)
			}
			if err := d.flags.Check(); (err == nil) != slices.Contains(c.allowed, value) {
				t.Errorf("--%s=%s: error %v, allowed are %v", c.flag, value, err, c.allowed)
			}
		}
	}
}

// incumbentFlags are the flags of the vSphere CPI for the provider vsphere, of its v1.31 and v1.36.
const incumbentFlags = `
	cloud-config cloud-provider node-labels controllers use-service-account-credentials concurrent-node-syncs
	concurrent-node-status-updates concurrent-node-lifecycle-syncs kube-api-qps kube-api-burst
	leader-elect-retry-period leader-elect leader-elect-lease-duration leader-elect-renew-deadline
	leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace enable-leader-migration
	leader-migration-config node-monitor-period node-status-update-frequency min-resync-period
	controller-start-interval kubeconfig master kube-api-content-type authentication-kubeconfig
	authentication-skip-lookup authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure
	authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl
	authorization-webhook-cache-unauthorized-ttl client-ca-file requestheader-allowed-names
	requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
	requestheader-uid-headers requestheader-username-headers secure-port bind-address cert-dir tls-cert-file
	tls-private-key-file tls-cipher-suites tls-curve-preferences tls-min-version tls-sni-cert-key
	disable-http2-serving http2-max-streams-per-connection permit-address-sharing permit-port-sharing webhooks
	webhook-bind-address webhook-cert-dir webhook-disable-http2-serving webhook-secure-port webhook-tls-cert-file
	webhook-tls-cipher-suites webhook-tls-curve-preferences webhook-tls-min-version webhook-tls-private-key-file
	webhook-tls-sni-cert-key cluster-name allocate-node-cidrs cidr-allocator-type cluster-cidr
	configure-cloud-routes route-reconciliation-period concurrent-service-syncs external-cloud-volume-plugin
	feature-gates profiling contention-profiling v vmodule log-flush-frequency logging-format
	log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream help version
	allow-untagged-cloud node-sync-period
`

// TestFlagsOfTheIncumbent: the daemon has each flag of the vSphere CPI, but rejects the provider vsphere-paravirtual and its
// flags.
func TestFlagsOfTheIncumbent(t *testing.T) {
	cmd := New(nil, Options{}).newCommand(t.Context(), newOptions(t))
	cmd.InitDefaultHelpFlag()
	for _, name := range strings.Fields(incumbentFlags) {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("--%s is not taken", name)
		}
	}
	for _, name := range []string{"is-legacy-paravirtual", "enable-vpc-mode", "pod-ip-pool-type"} {
		if err := cmd.ParseFlags([]string{"--" + name}); err == nil || err.Error() != "unknown flag: --"+name {
			t.Errorf("--%s: error %v, want an unknown flag", name, err)
		}
	}
	const want = `--cloud-provider is "vsphere-paravirtual", but only "vsphere" is supported`
	if err := New(nil, Options{}).configure(t.Context(), "vsphere-paravirtual", ""); err == nil || err.Error() != want {
		t.Errorf("--cloud-provider=vsphere-paravirtual: %v, want %s", err, want)
	}
}

// TestCommandLinesOfPlatforms: the command lines of the incumbent in gardener/gardener-extension-provider-vsphere and
// openshift/cluster-cloud-controller-manager-operator.
func TestCommandLinesOfPlatforms(t *testing.T) {
	for name, line := range map[string]string{
		"Gardener": "--allocate-node-cidrs=true --cloud-provider=vsphere --cloud-config=/etc/kubernetes/cloudprovider/cloudprovider.conf " +
			"--cluster-cidr=100.96.0.0/11 --cluster-name=shoot--a--b --concurrent-service-syncs=10 --configure-cloud-routes=true " +
			"--kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig " +
			"--authentication-kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig " +
			"--authorization-kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig " +
			"--leader-elect=true --secure-port=10258 --tls-cert-file=/var/lib/cloud-controller-manager-server/tls.crt " +
			"--tls-private-key-file=/var/lib/cloud-controller-manager-server/tls.key --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384 --v=2",
		"OpenShift": "--v=3 --cloud-config=/etc/kubernetes-cloud-config/cloud.conf --cloud-provider=vsphere --controllers=* " +
			"--configure-cloud-routes=false --bind-address=127.0.0.1 --cluster-name=cluster-x7k2p --leader-elect=true " +
			"--leader-elect-lease-duration=137s --leader-elect-renew-deadline=107s --leader-elect-retry-period=26s " +
			"--leader-elect-resource-namespace=openshift-cloud-controller-manager --feature-gates= --use-service-account-credentials=true",
	} {
		if _, err := parseFlags(t, strings.Fields(line)...); err != nil {
			t.Errorf("the flags of %s are rejected: %v", name, err)
		}
	}
}

func newOptions(t *testing.T) *options.CloudControllerManagerOptions {
	t.Helper()
	opts, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	setDefaults(opts)
	return opts
}

// parseFlags parses flags as the command would, and returns the framework's error.
func parseFlags(t *testing.T, args ...string) (*options.CloudControllerManagerOptions, error) {
	t.Helper()
	opts := newOptions(t)
	d := New(nil, Options{})
	cmd := d.newCommand(t.Context(), opts)
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	return opts, opts.Validate(app.ControllerNames(d.controllers(t.Context())), app.ControllersDisabledByDefault.List(), aliases(), nil, nil)
}

// TestFlagsOfTheIncumbentsDeployments: the flags in the incumbent's manifests, its chart and platforms.
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
		switch {
		case ok && err != nil:
			t.Errorf("--controllers=%s is rejected: %v", names, err)
		case !ok && (err == nil || !strings.Contains(err.Error(), "known controllers")):
			t.Errorf("--controllers=%s: error %v, want the known controllers", names, err)
		}
	}
	for alias, name := range aliases() {
		if _, ok := New(nil, Options{}).controllers(t.Context())[name]; !ok {
			t.Errorf("%s stands for %s, which is not a controller", alias, name)
		}
	}
}

// TestControllersThatAreNotOurs: these controllers do nothing, instead of failing the daemon.
func TestControllersThatAreNotOurs(t *testing.T) {
	all := New(nil, Options{}).controllers(t.Context())
	completed := new(appconfig.Config).Complete()
	for _, name := range []string{names.ServiceLBController, names.NodeRouteController} {
		c, started, err := all[name].Constructor(app.ControllerInitContext{}, completed, nil)(t.Context(), genericapp.ControllerContext{})
		if c != nil || started || err != nil {
			t.Errorf("%s: controller %v, started %v, error %v, want none of them", name, c, started, err)
		}
	}
	for _, name := range []string{names.CloudNodeController, names.CloudNodeLifecycleController} {
		if c := all[name]; c.Constructor == nil || c.InitContext.ClientName != app.DefaultInitFuncConstructors[name].InitContext.ClientName {
			t.Errorf("%s is not the framework's: %+v", name, c.InitContext)
		}
	}
}

// TestDefaults: the parsed defaults, where the framework has defaults of its own.
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
		t.Errorf("the flags do not override the defaults: %+v, QPS %v, error %v, want 7 status updates, 1 sync, 20 QPS", opts.NodeController, opts.Generic.ClientConnection.QPS, err)
	}
}
