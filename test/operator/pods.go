package operator

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	podName   = "vsphere-cloud-controller-manager-x2x4b"
	podSpace  = "kube-system"
	podConfig = "vsphere-cloud-config"
)

// installDaemon creates a Pod for the daemon with a command line, and the mounted ConfigMap with vsphere.yaml and the
// vCenters' CAs. No process runs the Pod.
func installDaemon(ts *testscript.TestScript, _ bool, args []string) {
	s := needStack(ts)
	ctx := bounded(ts)
	client := s.Client
	removePod(client)
	_, err := client.CoreV1().ConfigMaps(podSpace).Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: podConfig}, Data: configData(ts)}, metav1.CreateOptions{})
	ts.Check(err)
	automount := false
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName, Labels: map[string]string{"component": "cloud-controller-manager"}},
		Spec: v1.PodSpec{
			AutomountServiceAccountToken: &automount,
			Containers: []v1.Container{{
				Name: "vsphere-cloud-controller-manager", Image: "vsphere-cloud-controller-manager:test",
				Args:         append([]string{"--cloud-provider=vsphere", "--cloud-config=/etc/cloud/vsphere.conf"}, args...),
				VolumeMounts: []v1.VolumeMount{{Name: "config", MountPath: "/etc/cloud"}},
			}},
			Volumes: []v1.Volume{{Name: "config", VolumeSource: v1.VolumeSource{
				ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: podConfig}},
			}}},
		},
	}
	_, err = client.CoreV1().Pods(podSpace).Create(ctx, pod, metav1.CreateOptions{})
	ts.Check(err)
	ts.Defer(func() { removePod(client) }) // the next script uses the same control plane
}

func removePod(client kubernetes.Interface) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	_ = client.CoreV1().ConfigMaps(podSpace).Delete(ctx, podConfig, metav1.DeleteOptions{})
	_ = client.CoreV1().Pods(podSpace).Delete(ctx, podName, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

// pause waits for a command in the background.
func pause(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sleep DURATION")
	}
	d, err := time.ParseDuration(args[0])
	ts.Check(err)
	<-time.After(d)
}
