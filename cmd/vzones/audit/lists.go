package audit

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"vzones/topology/quote"
)

// The groups of the custom resources.
const (
	csiGroup     = "cns.vmware.com"
	machineGroup = "cluster.x-k8s.io"
	vsphereGroup = "infrastructure.cluster.x-k8s.io"
)

// pageSize is how many objects are listed at a time.
const pageSize = 1000

// A Count is how many objects of a kind were compared.
type Count struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// A Denied is a kind that the account may not list.
type Denied struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// lists reads what the cluster has.
type lists struct {
	core kubernetes.Interface
	dyn  dynamic.Interface
	// audited, absent and denied are the kinds that were listed, that the cluster does not have, and
	// that the account may not list.
	audited []Count
	absent  []string
	denied  []Denied
	// groups are what the API server has in a group, as group, version and resources.
	groups map[string]*metav1.APIResourceList
}

func newLists(cfg *rest.Config) (*lists, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // pages come one after the other
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	core, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return &lists{core: core, dyn: dyn, groups: map[string]*metav1.APIResourceList{}}, nil
}

// A page is one answer of the API server: objects, and what has to be sent for the next ones.
type page[T any] func(ctx context.Context, opts metav1.ListOptions) (items []T, next string, err error)

// read lists all objects of a kind, and reports whether they could be. One that the cluster does not
// have, or that may not be listed, is noted and is no error.
func read[T any](ctx context.Context, l *lists, kind string, list page[T], each func(*T)) (bool, error) {
	opts := metav1.ListOptions{Limit: pageSize}
	count := 0
	for {
		items, next, err := list(ctx, opts)
		switch {
		case apierrors.IsForbidden(err):
			l.denied = append(l.denied, Denied{kind, quote.Text(err.Error())})
			return false, nil
		case apierrors.IsNotFound(err):
			l.absent = append(l.absent, kind)
			return false, nil
		case err != nil:
			return false, fmt.Errorf("listing the objects of kind %s: %w", kind, err)
		}
		for i := range items {
			each(&items[i])
		}
		count += len(items)
		if opts.Continue = next; next == "" {
			l.audited = append(l.audited, Count{kind, count})
			return true, nil
		}
	}
}

// custom lists all objects of a kind that a CustomResourceDefinition makes, in the version that the
// API server prefers.
func (l *lists) custom(ctx context.Context, group, resource, kind string, each func(*unstructured.Unstructured)) (bool, error) {
	in, err := l.group(ctx, group)
	if err != nil {
		return false, err
	}
	if in == nil || !slices.ContainsFunc(in.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
		l.absent = append(l.absent, kind)
		return false, nil
	}
	version, err := schema.ParseGroupVersion(in.GroupVersion)
	if err != nil {
		return false, fmt.Errorf("group %s: %w", group, err)
	}
	client := l.dyn.Resource(version.WithResource(resource))
	return read(ctx, l, kind, func(ctx context.Context, opts metav1.ListOptions) ([]unstructured.Unstructured, string, error) {
		page, err := client.List(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		return page.Items, page.GetContinue(), nil
	}, each)
}

// group returns what the API server has in the version of a group that it prefers, nil if it does
// not have the group.
func (l *lists) group(ctx context.Context, group string) (*metav1.APIResourceList, error) {
	if in, ok := l.groups[group]; ok {
		return in, nil
	}
	client := l.core.Discovery().RESTClient()
	var found metav1.APIGroup
	err := client.Get().AbsPath("/apis", group).Do(ctx).Into(&found)
	in := &metav1.APIResourceList{}
	if err == nil {
		err = client.Get().AbsPath("/apis", found.PreferredVersion.GroupVersion).Do(ctx).Into(in)
	}
	switch {
	case apierrors.IsNotFound(err):
		in = nil
	case err != nil:
		return nil, fmt.Errorf("reading what API group %s has: %w", group, err)
	}
	l.groups[group] = in
	return in, nil
}
