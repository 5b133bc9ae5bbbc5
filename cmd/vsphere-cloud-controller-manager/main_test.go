package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cloud-provider/app"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	genericapp "k8s.io/controller-manager/app"

	"vzones/provider"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vsphere-cloud-controller-manager": main})
}

// listener stands for a server. It hangs up on everybody and counts them.
type listener struct {
	net.Listener
	done sync.WaitGroup

	mu     sync.Mutex
	count  int
	called chan struct{} // closed at the first connection
}

func listen() (*listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &listener{Listener: l, called: make(chan struct{})}
	s.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			s.mu.Lock()
			if s.count++; s.count == 1 {
				close(s.called)
			}
			s.mu.Unlock()
		}
	})
	return s, nil
}

func (s *listener) stop() {
	_ = s.Close()
	s.done.Wait()
}

func (s *listener) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

const kubeconfig = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://%s"}}]
users: [{name: u, user: {token: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`

// TestScripts runs the daemon as a process. Beside testscript's own commands
// there are
//
//	expand FILE…               puts $VARIABLES into files
//	connections api|vcenter N  fails unless N connections came
//	called api|vcenter         waits for the first connection
//	json stdout|stderr         fails unless there are lines, and each is a JSON object
//
// $WORK/kubeconfig leads to the API server that counts, $VCENTER_PORT of
// 127.0.0.1 to the vCenter that does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"api", "vcenter"} {
				l, err := listen()
				if err != nil {
					return err
				}
				e.Defer(l.stop)
				e.Values[name] = l
			}
			_, port, err := net.SplitHostPort(e.Values["vcenter"].(*listener).Addr().String())
			if err != nil {
				return err
			}
			e.Setenv("VCENTER_PORT", port)
			api := e.Values["api"].(*listener).Addr().String()
			return os.WriteFile(e.WorkDir+"/kubeconfig", fmt.Appendf(nil, kubeconfig, api), 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"expand": func(ts *testscript.TestScript, _ bool, files []string) {
				for _, f := range files {
					expanded := os.Expand(ts.ReadFile(f), ts.Getenv)
					ts.Check(os.WriteFile(ts.MkAbs(f), []byte(expanded), 0o600))
				}
			},
			"connections": func(ts *testscript.TestScript, _ bool, args []string) {
				want, err := strconv.Atoi(args[1])
				ts.Check(err)
				if n := ts.Value(args[0]).(*listener).connections(); n != want {
					ts.Fatalf("%d connections to the %s, want %d", n, args[0], want)
				}
			},
			"json": func(ts *testscript.TestScript, _ bool, args []string) {
				text := ts.ReadFile(args[0])
				if text == "" {
					ts.Fatalf("%s is empty", args[0])
				}
				for line := range strings.Lines(text) {
					var fields map[string]any
					if err := json.Unmarshal([]byte(line), &fields); err != nil {
						ts.Fatalf("not a JSON object: %v: %s", err, line)
					}
				}
			},
			"called": func(ts *testscript.TestScript, _ bool, args []string) {
				select {
				case <-ts.Value(args[0]).(*listener).called:
				case <-time.After(30 * time.Second):
					ts.Fatalf("nobody called the %s", args[0])
				}
			},
		},
	})
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

// parseFlags reads flags as the command would and returns the framework's verdict on
// them.
func parseFlags(t *testing.T, args ...string) (*options.CloudControllerManagerOptions, error) {
	t.Helper()
	opts, d := newOptions(t), newDaemon(t.Context(), func() {})
	cmd, _ := newCommand(t.Context(), opts, d)
	if err := cmd.ParseFlags(args); err != nil {
		return nil, err
	}
	return opts, opts.Validate(app.ControllerNames(d.controllers()), app.ControllersDisabledByDefault.List(), aliases(), nil, nil)
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
		if _, ok := newDaemon(t.Context(), func() {}).controllers()[name]; !ok {
			t.Errorf("%s stands for %s, which is no controller", alias, name)
		}
	}
}

// TestControllersThatAreNotOurs do nothing instead of failing the daemon.
func TestControllersThatAreNotOurs(t *testing.T) {
	all := newDaemon(t.Context(), func() {}).controllers()
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
