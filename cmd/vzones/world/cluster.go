package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/tools/pager"

	"vzones/internal/quote"
	"vzones/provider/framework"
)

// connect creates the client of the Kubernetes cluster from the kubeconfig or, in a Pod, from its ServiceAccount. Without
// either, it sets NoNodes, or returns an error if the command needs the cluster.
func (w *World) connect(f *Flags) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.Overrides)
	raw, err := rules.Load()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %s", masked(err))
	}
	if f.Overrides.ClusterInfo.Server != "" && api.IsConfigEmpty(raw) {
		// In a Pod, client-go would send the Pod's token to that server.
		return errors.New("--server requires a kubeconfig: without one, the token of this Pod would be sent to that server")
	}
	cfg, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = noKubeconfig(rules)
		switch {
		case f.Config == "":
			return fmt.Errorf("no configuration: use --config FILE, or a kubeconfig to read the daemon's configuration: %w", err)
		case f.NeedsNodes || f.Kubeconfig != "":
			return err
		}
		w.NoNodes = err
		return nil
	}
	if err == nil {
		cfg.QPS = 50
		cfg.Burst = 100
		cfg.Timeout = cmp.Or(cfg.Timeout, f.Timeout, time.Minute)
		w.RESTConfig = cfg
		w.Cluster = f.clusterName(raw, cfg.Host)
		w.Client, err = kubernetes.NewForConfig(cfg)
	}
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %s", masked(err))
	}
	return nil
}

// clusterName returns the kubeconfig's cluster or context or, failing that or with --server, the server's host. It returns
// "" if the URL is invalid.
func (f *Flags) clusterName(raw *api.Config, server string) string {
	name := cmp.Or(f.Overrides.Context.Cluster, f.Overrides.CurrentContext)
	if name == "" && raw != nil {
		name = raw.CurrentContext
	}
	u, err := url.Parse(server)
	switch {
	case name != "" && f.Overrides.ClusterInfo.Server == "":
		return quote.Name(name)
	case err != nil:
		return ""
	}
	// The URL may contain credentials.
	return quote.Name(u.Host)
}

// userInfo matches the credentials of a URL in an error. They may contain spaces, quotes and slashes.
var userInfo = regexp.MustCompile(`(?s)(//|").*@`)

// masked returns the text of an error without the credentials of a URL in it, if any.
func masked(err error) string {
	return quote.Line(userInfo.ReplaceAllString(err.Error(), "$1[redacted]@"))
}

func noKubeconfig(rules *clientcmd.ClientConfigLoadingRules) error {
	files := rules.GetLoadingPrecedence()
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return fmt.Errorf("kubeconfig %s defines no cluster: use --kubeconfig with another file", file)
		}
	}
	return fmt.Errorf("kubeconfig %s does not exist: use --kubeconfig FILE, or set KUBECONFIG", strings.Join(files, ", "))
}

func (w *World) readNodes(ctx context.Context, f *Flags) error {
	if w.Nodes = f.Nodes; w.Client == nil || w.Nodes != nil {
		return nil
	}
	list := func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		return w.Client.CoreV1().Nodes().List(ctx, opts)
	}
	err := pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
		w.Nodes = append(w.Nodes, o.(*v1.Node))
		return nil
	})
	switch {
	case err == nil:
		slices.SortFunc(w.Nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
		return nil
	case f.NodesOptional && apierrors.IsForbidden(err):
		w.Nodes = nil
		w.NoNodes = fmt.Errorf("listing the Nodes: %w", err)
		return nil
	}
	return fmt.Errorf("listing the Nodes: %w", err)
}

// Selected returns the Nodes that match --selector, and warns on standard error if there are none. It filters only the
// output: placements are decided with all Nodes.
func (w *World) Selected() []*v1.Node {
	selected := slices.DeleteFunc(slices.Clone(w.Nodes), func(n *v1.Node) bool { return !w.selector.Matches(labels.Set(n.Labels)) })
	if len(selected) == 0 {
		warnOfSelector(w.selector)
	}
	return selected
}

func warnOfSelector(s labels.Selector) {
	if !s.Empty() {
		fmt.Fprintf(os.Stderr, "Warning: no Node matches --selector %s\n", quote.Value(s.String()))
	}
}

func fillCache(cache *framework.Cache, nodes []*v1.Node) {
	objects := make([]any, len(nodes))
	for i, n := range nodes {
		objects[i] = n
	}
	_ = cache.SharedInformer().GetIndexer().Replace(objects, "") // The key of a Node is its name, so there is no error.
}
