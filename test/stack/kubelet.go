package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"vzones/test/cluster"
	"vzones/test/process"
)

// KubeletOptions are the options of a kubelet.
type KubeletOptions struct {
	Node               string
	SystemUUID, BootID string
	ProviderID         string
	// Labels is the flag --node-labels.
	Labels map[string]string
}

// StartKubelet starts a real kubelet with a fake container runtime, as its Node's own user. Reset and Stop kill it.
func (s *Stack) StartKubelet(o *KubeletOptions) (*process.Process, error) {
	found, err := cluster.Find(cluster.HollowKubelet)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.Dir, "kubelet-")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := s.Cluster.WriteKubeletKubeconfig(kubeconfig, o.Node); err != nil {
		return nil, err
	}
	var labels []string
	for key, value := range o.Labels {
		labels = append(labels, key+"="+value)
	}
	p, err := process.Start(dir, nil, "kubelet", found[cluster.HollowKubelet],
		"--kubeconfig="+kubeconfig, "--root-dir="+dir, "--hostname-override="+o.Node, "--provider-id="+o.ProviderID,
		"--node-labels="+strings.Join(labels, ","), "--system-uuid="+o.SystemUUID, "--boot-id="+o.BootID)
	if err != nil {
		return nil, fmt.Errorf("starting the kubelet of Node %s: %w", o.Node, err)
	}
	s.kubelets = append(s.kubelets, p)
	return p, nil
}

func (s *Stack) killKubelets() (errs []error) {
	for _, p := range s.kubelets {
		errs = append(errs, p.Stop(0))
	}
	s.kubelets = nil
	return errs
}
