package world

import (
	"context"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/internal/quote"
)

// A Neighbor is the workload of another cloud controller manager in the cluster.
type Neighbor struct {
	// Workload is the kind, namespace and name, for a static Pod of the Pod.
	Workload string
	Image    string
	// SharesLease reports whether it elects its leader with the daemon's Lease.
	SharesLease bool
}

// neighborPrograms are parts of the names of cloud controller managers' programs and images.
var neighborPrograms = []string{"cloud-controller-manager", "-ccm"}

// readNeighbors sets Neighbors from the Pods in the daemon's namespace and in kube-system.
func (d *Daemon) readNeighbors(ctx context.Context, s *DaemonState) error {
	namespaces := []string{d.Namespace, metav1.NamespaceSystem}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		pods, err := d.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if n, ok := d.neighborOf(p); ok && !slices.Contains(s.Neighbors, n) {
				s.Neighbors = append(s.Neighbors, n)
			}
		}
	}
	slices.SortFunc(s.Neighbors, func(a, b Neighbor) int { return strings.Compare(a.Workload, b.Workload) })
	return nil
}

func (d *Daemon) neighborOf(p *v1.Pod) (Neighbor, bool) {
	of := ownerOf(p)
	if of.kind == kindNode {
		of = workload{"Pod", p.Name}
	}
	isOwn := p.Namespace == d.Namespace && of == d.workload
	i := slices.IndexFunc(p.Spec.Containers, func(c v1.Container) bool {
		names := append(slices.Concat(c.Command, c.Args), c.Image)
		return slices.ContainsFunc(names, isNeighborProgram)
	})
	if isOwn || i < 0 || hasEnded(p) {
		return Neighbor{}, false
	}
	c := &p.Spec.Containers[i]
	n := Neighbor{Workload: quote.Name(of.kind) + " " + quote.Name(p.Namespace) + "/" + quote.Name(of.name), Image: c.Image}
	if flags, err := ParseArguments(flagsOf(c)); err == nil {
		n.SharesLease = d.LeaderElect && flags.LeaderElect && flags.LeaseNamespace == d.LeaseNamespace && flags.LeaseName == d.LeaseName
	}
	return n, true
}

// isNeighborProgram reports whether a word is the path of a cloud controller manager's program, or its image.
func isNeighborProgram(word string) bool {
	if strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \n") {
		return false
	}
	word, _, _ = strings.Cut(path.Base(word), ":")
	word, _, _ = strings.Cut(word, "@")
	return slices.ContainsFunc(neighborPrograms, func(part string) bool { return strings.Contains(word, part) })
}

// flagsOf returns the words of a container's command line that follow its program.
func flagsOf(c *v1.Container) []string {
	words := slices.Concat(c.Command, c.Args)
	i := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
	if i < 0 {
		return nil
	}
	return words[i:]
}
