//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"vzones/manifests"
	"vzones/provider/nodeinfo"
	"vzones/test/chart"
	"vzones/test/fleet"
	"vzones/test/stack"
)

const (
	configMap  = "vsphere-cloud-config"
	configFile = "vsphere.conf"
	// hostLabel is the label of the changed configuration.
	hostLabel = "example.com/host"
)

func (w *world) manifestSteps() []step {
	return append(w.installSteps(w.applyManifest),
		step{"a change of the ConfigMap", w.changeConfig},
		step{"a rolling update of the DaemonSet", w.rollOut},
		step{"the VM of " + lostVM + " ends", w.endVM},
		step{"the DaemonSet is deleted", w.deleteDaemonSet},
	)
}

func (w *world) chartSteps() []step {
	return append(w.installSteps(w.installChart), step{"helm uninstall", w.uninstallChart})
}

func (w *world) installSteps(install func(context.Context) (string, error)) []step {
	return []step{
		{"a control plane and simulated vCenters", w.start},
		{"kubelets register Nodes", w.startVMs},
		{"the installation", install},
		{"the Nodes are initialized", w.initialized},
		{"the Pod is ready", w.podReady},
		{"kubectl logs", w.logsOfPod},
	}
}

// chartValues returns the values of the chart.
func (w *world) chartValues() string {
	return fleet.ChartValues(w.stack.Fleet, regionCategory, zoneCategory)
}

// applyManifest applies the plain manifest with the three changes that its comments ask for: the vCenters, their credentials,
// and the image.
func (w *world) applyManifest(ctx context.Context) (string, error) {
	if err := w.stack.WriteSecret(ctx); err != nil {
		return "", err
	}
	if err := w.putConfig(ctx, nil); err != nil {
		return "", err
	}
	const example = "image: registry.example.com/vsphere-cloud-controller-manager:v1.37.0\n"
	if !bytes.Contains(manifests.Plain, []byte(example)) {
		return "", fmt.Errorf("the manifest has no %s", example)
	}
	manifest := bytes.ReplaceAll(manifests.Plain, []byte(example), []byte("image: "+w.image+"\n"))
	err := w.stack.Cluster.Apply(ctx, manifest, func(kind string) bool { return kind != "Secret" && kind != "ConfigMap" })
	return "image " + w.image, err
}

// putConfig writes the ConfigMap with the configuration of the chart's values and further settings.
func (w *world) putConfig(ctx context.Context, further map[string]any) error {
	var values struct {
		Config      map[string]any    `json:"config"`
		Authorities map[string]string `json:"certificateAuthorities"`
	}
	if err := yaml.Unmarshal([]byte(w.chartValues()), &values); err != nil {
		return err
	}
	maps.Copy(values.Config, further)
	config, err := yaml.Marshal(values.Config)
	if err != nil {
		return err
	}
	object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: configMap, Namespace: namespace}, Data: values.Authorities}
	object.Data[configFile] = string(config)
	objects := w.stack.Client.CoreV1().ConfigMaps(namespace)
	_, err = objects.Update(ctx, object, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = objects.Create(ctx, object, metav1.CreateOptions{})
	}
	return err
}

func (w *world) helm(ctx context.Context, args ...string) error {
	helm, err := chart.Find()
	if err != nil {
		return err
	}
	_, err = helm.Run(ctx, append(args, "--kubeconfig="+w.stack.Cluster.AdminKubeconfig(), "--namespace="+namespace)...)
	return err
}

func (w *world) installChart(ctx context.Context) (string, error) {
	helm, err := chart.Find()
	if err != nil {
		return "", err
	}
	values := filepath.Join(w.stack.Dir, "values.yaml")
	if err := os.WriteFile(values, []byte(w.chartValues()), 0o600); err != nil {
		return "", err
	}
	repository, tag := splitImage(w.image)
	err = w.helm(ctx, "install", "vzones", helm.Chart(), "--values="+values, "--set=image.repository="+repository, "--set-string=image.tag="+tag)
	return "image " + w.image, err
}

func splitImage(image string) (repository, tag string) {
	i := strings.LastIndex(image, ":")
	return image[:i], image[i+1:]
}

// initialized waits until each Node has the data of its VM.
func (w *world) initialized(ctx context.Context) (string, error) {
	var seen []string
	err := w.await(ctx, func(ctx context.Context) error {
		nodes, err := w.stack.Nodes(ctx)
		if err != nil {
			return err
		}
		seen = nil
		for _, vm := range w.stack.Fleet.VMs() {
			if err := matches(nodes[vm.Name], vm); err != nil {
				return err
			}
			seen = append(seen, fmt.Sprintf("%s %s %s %s", vm.Name, nodes[vm.Name].Labels[v1.LabelTopologyRegion], nodes[vm.Name].Labels[v1.LabelTopologyZone], vm.IPs[0]))
		}
		return nil
	})
	return strings.Join(seen, ", "), err
}

// matches returns an error unless a Node is initialized with its VM's region, zone, provider ID, type and address.
func matches(n *v1.Node, vm fleet.VM) error {
	if n == nil {
		return fmt.Errorf("the Node %s does not exist", vm.Name)
	}
	region, zone := n.Labels[v1.LabelTopologyRegion], n.Labels[v1.LabelTopologyZone]
	address := v1.NodeAddress{Type: v1.NodeInternalIP, Address: vm.IPs[0]}
	if !stack.Initialized(n) || region != vm.VCenter || zone != vm.VCenter+"-1" || n.Spec.ProviderID != vm.ProviderID() ||
		n.Labels[v1.LabelInstanceTypeStable] == "" || !slices.Contains(n.Status.Addresses, address) {
		return fmt.Errorf("the Node %s: region %q, zone %q, provider ID %q, want %s, %s-1, %s; labels %v, taints %v, addresses %v",
			n.Name, region, zone, n.Spec.ProviderID, vm.VCenter, vm.VCenter, vm.ProviderID(), n.Labels, n.Spec.Taints, n.Status.Addresses)
	}
	return nil
}

func (w *world) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := w.stack.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "name=" + workload})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// pod returns the only Pod of the DaemonSet, if it is ready with an image.
func (w *world) pod(ctx context.Context, image string) (*v1.Pod, error) {
	pods, err := w.pods(ctx)
	if err != nil {
		return nil, err
	}
	if len(pods) != 1 {
		return nil, fmt.Errorf("%d Pods, want 1", len(pods))
	}
	p := &pods[0]
	isReady := slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
	switch {
	case !isReady || p.DeletionTimestamp != nil:
		return nil, fmt.Errorf("the Pod %s is not ready", p.Name)
	case p.Spec.Containers[0].Image != image:
		return nil, fmt.Errorf("the Pod %s has the image %s, want %s", p.Name, p.Spec.Containers[0].Image, image)
	case p.Status.ContainerStatuses[0].RestartCount > 0:
		return nil, fmt.Errorf("the Pod %s was restarted", p.Name)
	}
	return p, nil
}

func (w *world) podReady(ctx context.Context) (string, error) {
	var seen string
	err := w.await(ctx, func(ctx context.Context) error {
		p, err := w.pod(ctx, w.image)
		if err != nil {
			return err
		}
		c := p.Status.ContainerStatuses[0]
		seen = fmt.Sprintf("%s on %s, %s", p.Name, p.Spec.NodeName, c.ContainerID[:min(len(c.ContainerID), 25)])
		return nil
	})
	return seen, err
}

// logsOfPod compares the output of kubectl logs with what the daemon logs about each Node.
func (w *world) logsOfPod(ctx context.Context) (string, error) {
	log, err := w.kubectl(ctx, "logs", "daemonset/"+workload)
	if err != nil {
		return "", err
	}
	for _, vm := range w.stack.Fleet.VMs() {
		if !strings.Contains(log, `"Placed Node" node="`+vm.Name+`"`) {
			return "", fmt.Errorf("no line about placing Node %s in\n%s", vm.Name, log)
		}
	}
	return fmt.Sprintf("%d lines, with the placement of each Node", strings.Count(log, "\n")), nil
}

func (w *world) kubectl(ctx context.Context, args ...string) (string, error) {
	args = append([]string{"--kubeconfig=" + w.stack.Cluster.AdminKubeconfig(), "--namespace=" + namespace}, args...)
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, "tools", "kubectl"), args...)
	cmd.Stdout = &out
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[2], err, &stderr)
	}
	return out.String(), nil
}

// changeConfig adds a level to the ConfigMap and waits until the running daemon has given each Node its label.
func (w *world) changeConfig(ctx context.Context) (string, error) {
	before, err := w.pod(ctx, w.image)
	if err != nil {
		return "", err
	}
	level := map[string]any{"label": hostLabel, "inventory": "host"}
	if err := w.putConfig(ctx, map[string]any{"topology": map[string]any{"settle": "1s", "levels": []any{level}}}); err != nil {
		return "", err
	}
	err = w.await(ctx, func(ctx context.Context) error {
		nodes, err := w.stack.Nodes(ctx)
		if err != nil {
			return err
		}
		for _, vm := range w.stack.Fleet.VMs() {
			if got := nodes[vm.Name].Labels[hostLabel]; got != vm.Host {
				return fmt.Errorf("the Node %s has the label %s=%q, want %q", vm.Name, hostLabel, got, vm.Host)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	after, err := w.pod(ctx, w.image)
	if err == nil && after.UID != before.UID {
		err = errors.New("the Pod was replaced")
	}
	return "each Node has the label " + hostLabel + ", from the same Pod without a restart", err
}

// rollOut changes the image and the flags of the DaemonSet and watches that the Nodes stay initialized.
func (w *world) rollOut(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lost error
	var states int
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_ = w.stack.Watch(ctx, "a Node loses its labels", func(nodes []*v1.Node) bool {
			states++
			lost = w.complete(nodes)
			return lost != nil
		})
	}()
	// Waiting for an absent VM's confirmation takes minutes by default.
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": w.nextImage()},
		{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--deletion-hold=5s"},
	})
	if err != nil {
		return "", err
	}
	if _, err := w.stack.Client.AppsV1().DaemonSets(namespace).Patch(ctx, workload, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		return "", err
	}
	err = w.await(ctx, func(ctx context.Context) error {
		_, err := w.pod(ctx, w.nextImage())
		return err
	})
	cancel()
	<-watched
	if err := errors.Join(lost, err); err != nil {
		return "", err
	}
	return fmt.Sprintf("image %s; %d states of the Nodes, all with their labels", w.nextImage(), states), nil
}

// complete returns an error unless each VM has a Node with its data and labels.
func (w *world) complete(nodes []*v1.Node) error {
	byName := map[string]*v1.Node{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	for _, vm := range w.stack.Fleet.VMs() {
		n := byName[vm.Name]
		if err := matches(n, vm); err != nil {
			return err
		}
		if n.Labels[hostLabel] != vm.Host {
			return fmt.Errorf("the Node %s has lost the label %s", n.Name, hostLabel)
		}
	}
	return nil
}

// endVM destroys a VM and its kubelet, and waits until its Node is deleted.
func (w *world) endVM(ctx context.Context) (string, error) {
	vm, err := w.stack.Fleet.VM(lostVM)
	if err != nil {
		return "", err
	}
	running := w.vms[lostVM]
	delete(w.vms, lostVM)
	if err := errors.Join(w.stack.Fleet.VCenter(vm.VCenter).Destroy(lostVM), running.Stop(0)); err != nil {
		return "", err
	}
	began := time.Now()
	var silent time.Duration
	err = w.await(ctx, func(ctx context.Context) error {
		nodes, err := w.stack.Nodes(ctx)
		if err != nil {
			return err
		}
		if n := nodes[lostVM]; n != nil {
			if silent == 0 && !nodeinfo.IsReady(n) {
				silent = time.Since(began)
			}
			return fmt.Errorf("the Node %s still exists", lostVM)
		}
		return w.complete(slices.Collect(maps.Values(nodes)))
	})
	return fmt.Sprintf("its Node is not ready after %.1f s and then deleted; the others keep their labels", silent.Seconds()), err
}

func (w *world) deleteDaemonSet(ctx context.Context) (string, error) {
	if err := w.stack.Client.AppsV1().DaemonSets(namespace).Delete(ctx, workload, metav1.DeleteOptions{}); err != nil {
		return "", err
	}
	return w.loggedOut(ctx)
}

func (w *world) uninstallChart(ctx context.Context) (string, error) {
	if err := w.helm(ctx, "uninstall", "vzones"); err != nil {
		return "", err
	}
	return w.loggedOut(ctx)
}

// loggedOut waits for the end of the Pod, and checks that the daemon closed its sessions.
func (w *world) loggedOut(ctx context.Context) (string, error) {
	err := w.await(ctx, func(ctx context.Context) error {
		pods, err := w.pods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("the Pod %s still exists", pods[0].Name)
		}
		return err
	})
	for _, v := range w.stack.Fleet.VCenters() {
		if n := v.Sessions(); n > 0 {
			err = errors.Join(err, fmt.Errorf("%d sessions are open on vCenter %s", n, v.Name()))
		}
	}
	return "the Pod has ended, no session is left on any vCenter", err
}
