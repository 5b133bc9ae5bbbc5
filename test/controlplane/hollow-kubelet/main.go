// Command hollow-kubelet runs Kubernetes' kubelet for a simulated VM: with a fake container runtime, and with the VM's
// system UUID in place of this host's. It needs no privileges and opens no port.
//
// It has no flag --node-ip, because a kubelet rejects an address that is on no interface of its host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cliflag "k8s.io/component-base/cli/flag"
	runtimev1 "k8s.io/cri-api/pkg/apis/runtime/v1"
	runtimetesting "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/klog/v2"
	cadvisortesting "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubemark"
)

// leaseSeconds is a fifth of the kubelet's default, so that the control plane soon notices a killed kubelet.
const leaseSeconds = 8

// options are flags of the kubelet, and the VM.
type options struct {
	kubeconfig, name, rootDir, providerID string
	labels                                map[string]string
	vm                                    vm
}

func main() {
	o := options{labels: map[string]string{}}
	// Libraries have added flags to the default set.
	flags := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "path of the kubeconfig of the Node's user")
	flags.StringVar(&o.name, "hostname-override", "", "name of the Node")
	flags.StringVar(&o.rootDir, "root-dir", "", "empty folder")
	flags.StringVar(&o.providerID, "provider-id", "", "provider ID of the Node")
	flags.Var(cliflag.NewMapStringString(&o.labels), "node-labels", "KEY=VALUE,KEY=VALUE")
	flags.StringVar(&o.vm.uuid, "system-uuid", "", "SMBIOS UUID of the VM")
	flags.StringVar(&o.vm.bootID, "boot-id", "", "boot ID of the VM")
	klog.InitFlags(flags)
	_ = flags.Parse(os.Args[1:]) // exits after an error
	if err := run(context.Background(), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "kubelet" // the field manager
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	heartbeats := rest.CopyConfig(config)
	heartbeats.QPS = -1
	heartbeatClient, err := kubernetes.NewForConfig(heartbeats)
	if err != nil {
		return err
	}

	flags, kubelet := kubemark.GetHollowKubeletConfig(&kubemark.HollowKubeletOptions{NodeName: o.name, MaxPods: 110, NodeLabels: o.labels})
	// Its folder below /tmp would outlive a killed process.
	if err := os.RemoveAll(flags.RootDirectory); err != nil {
		return err
	}
	flags.RootDirectory = o.rootDir
	kubelet.StaticPodPath = filepath.Join(o.rootDir, "static-pods")
	kubelet.PodLogsDir = filepath.Join(o.rootDir, "pod-logs")
	kubelet.VolumePluginDir = filepath.Join(o.rootDir, "volume-plugins")
	if err := errors.Join(os.Mkdir(kubelet.StaticPodPath, 0o700), os.Mkdir(kubelet.PodLogsDir, 0o700)); err != nil {
		return err
	}
	flags.CloudProvider = "external"
	kubelet.ProviderID = o.providerID
	kubelet.EnableServer = false
	kubelet.EnableControllerAttachDetach = true
	kubelet.NodeLeaseDurationSeconds = leaseSeconds

	runtime := runtimetesting.NewFakeRuntimeService()
	runtime.FakeStatus = &runtimev1.RuntimeStatus{Conditions: []*runtimev1.RuntimeCondition{
		{Type: runtimev1.RuntimeReady, Status: true}, {Type: runtimev1.NetworkReady, Status: true},
	}}
	kubemark.NewHollowKubelet(flags, kubelet, client, heartbeatClient, &o.vm, runtimetesting.NewFakeImageService(), runtime, cm.NewStubContainerManager()).Run(ctx)
	return nil
}

// vm is the kubelet's view of its host.
type vm struct {
	cadvisortesting.Fake
	uuid, bootID string
}

func (v *vm) MachineInfo(klog.Logger) (*model.MachineInfo, error) {
	return &model.MachineInfo{
		NumCores: 8, MemoryCapacity: 32 << 30,
		SystemUUID: v.uuid, MachineID: strings.ReplaceAll(v.uuid, "-", ""), BootID: v.bootID,
	}, nil
}
